package mutant

import (
	"fmt"
	"path"
	"strings"
	"time"

	"divisi/internal/text"
)

// Proof is what new tests of a package tell of the code that they reach. Kills are mutants that live with the tests before: what
// the new tests prove. Known are those that the tests before kill too, Lives those that all let live.
type Proof struct {
	Kills, Known, Lives []Mutant
	// Idle tells of new tests that find none of them: empty, always skipped, or true whatever the code does.
	Idle []string
	// Waiting are new tests that found none before time ran out.
	Waiting []string
	// Reached is how many mutants the new tests reach.
	Reached int
}

const (
	// maxTried bounds how many mutants are tried.
	maxTried = 40
	// firstLimit bounds a run of the tests without a mutant; with one they have patience times as long, and slack.
	firstLimit = 5 * time.Minute
	patience   = 10
	slack      = 5 * time.Second
)

// spread takes some of a list, at even distances.
func spread[T any](list []T, most int) (some []T) {
	for i := range min(len(list), most) {
		some = append(some, list[i*len(list)/min(len(list), most)])
	}
	return some
}

// Refusal is why the tests prove nothing; "" where they kill a mutant that lived.
func (p Proof) Refusal() string {
	switch {
	case len(p.Idle) > 0:
		return text.Some(p.Idle, maxNamed)
	case len(p.Kills) > 0:
		return ""
	case len(p.Waiting) > 0:
		return "no time to try all changes of the code; tests that had found none: " + text.Some(p.Waiting, maxNamed)
	case p.Reached == 0:
		return "the tests reach no statement of the package that they are in"
	case len(p.Lives)+len(p.Known) == 0:
		return "no change of the code that the tests reach makes an assertion of them fail each time"
	case len(p.Lives) == 0:
		return fmt.Sprintf("the tests before find each of the %d changes that the tests reach", len(p.Known))
	default:
		return fmt.Sprintf("the tests pass with each of %d changes of code that they reach and that no other test finds",
			len(p.Lives))
	}
}

// at is the place of a mutant.
func (m Mutant) at(dir string) string {
	return fmt.Sprintf("%s:%d in %s", path.Join(dir, m.File), m.Line, m.Func)
}

// In is a mutant for people and models; dir is the directory of its package.
func (m Mutant) In(dir string) string {
	place := m.at(dir) + ": "
	shown := strings.ReplaceAll(m.New, anotherError, "another error")
	if m.New == "" {
		return text.Clip(text.OneLine(place+"without "+m.Old), text.MaxLine)
	}
	return text.Clip(text.OneLine(place+m.Old+" made "+shown), text.MaxLine)
}

// gone is a row of data that is gone, for people.
func (m Mutant) gone(dir string) string {
	row := text.Clip(text.OneLine(strings.TrimSpace(m.Old)), text.MaxLine/2)
	return fmt.Sprintf("%s of %s:%d", row, path.Join(dir, m.File), m.Line)
}
