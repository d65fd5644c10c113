package mutant

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// Proof is what new tests of a package tell of the code that they reach. Kills are mutants that live with the tests before: what
// the new tests prove. Known are those that the tests before kill too, Lives those that all let live.
type Proof struct {
	Kills, Known, Lives []Mutant
	// Idle tells of new tests that find none of them: empty, always skipped, or true whatever the code does.
	Idle []string
	// Reached is how many mutants the new tests reach.
	Reached int
}

const (
	// maxTried bounds how many mutants are tried, maxKills after how many that only the new tests kill no more are.
	maxTried, maxKills = 40, 10
	// firstLimit bounds a run of the tests without a mutant; with one they have patience times as long, and slack.
	firstLimit = 5 * time.Minute
	patience   = 10
	slack      = 5 * time.Second
)

// suite are tests of one of the programs.
type suite struct {
	program string
	flags   []string
	limit   time.Duration
}

// Prove runs new tests of the package with mutants that they reach, and those before too. It begins with no mutant after budget.
func (p *GoPackage) Prove(ctx context.Context, tests []string, budget time.Duration) (proof Proof, err error) {
	begin := time.Now()
	own := suite{program: newTests, flags: only(tests)}
	reached, err := p.measure(ctx, &own)
	if err != nil {
		return proof, err
	}
	before, err := p.before(ctx)
	if err != nil {
		return proof, err
	}
	proof.Reached = len(reached)
	var found []int
	for _, number := range spread(reached, maxTried) {
		if len(proof.Kills) == maxKills || time.Since(begin) > budget {
			break
		}
		killed, known, err := p.try(ctx, number, own, before)
		if err != nil {
			return proof, err
		}
		if killed {
			found = append(found, number)
		}
		switch m := *p.mutant(number); {
		case known:
			proof.Known = append(proof.Known, m)
		case killed:
			proof.Kills = append(proof.Kills, m)
		default:
			proof.Lives = append(proof.Lives, m)
		}
	}
	if len(tests) > 1 && len(proof.Kills) > 0 {
		proof.Idle, err = p.idle(ctx, tests, found, own.limit, begin.Add(budget))
	}
	return proof, err
}

// try reports whether new tests kill a mutant, and whether those before do. What only the new tests kill they kill twice, and
// pass without a mutant between: a test that fails now and then proves nothing.
func (p *GoPackage) try(ctx context.Context, number int, own suite, before *suite) (killed, known bool, err error) {
	if before != nil {
		if known, err = p.kills(ctx, before.program, number, before.flags, before.limit); err != nil {
			return false, false, err
		}
	}
	killed, err = p.kills(ctx, own.program, number, own.flags, own.limit)
	if err != nil || !killed || known {
		return killed, known, err
	}
	if _, err = p.measure(ctx, &own); err != nil {
		return false, false, err
	}
	killed, err = p.kills(ctx, own.program, number, own.flags, own.limit)
	return killed, false, err
}

// measure runs tests without a mutant, which they must pass, and bounds how long they may take with one.
func (p *GoPackage) measure(ctx context.Context, s *suite) ([]int, error) {
	begin := time.Now()
	reached, out, ok, err := p.control(ctx, s.program, s.flags, firstLimit)
	if err == nil && !ok {
		err = fmt.Errorf("the tests fail without a change of the code: %w: %s", ErrRefused, lastLine(out))
	}
	s.limit = max(s.limit, patience*time.Since(begin)+slack)
	return reached, err
}

var (
	testName = lazyregexp.New(`(?m)^(?:Test|Example|Fuzz)\S*$`)
	failed   = lazyregexp.New(`(?m)^--- FAIL: (\S+)`)
)

// before are the tests before the patch, without those that fail without a mutant; nil for none.
func (p *GoPackage) before(ctx context.Context) (*suite, error) {
	if !p.had {
		return nil, nil
	}
	s := &suite{program: oldTests}
	_, out, ok, err := p.control(ctx, s.program, nil, firstLimit)
	if err != nil {
		return nil, err
	}
	if !ok {
		var red []string
		for _, name := range failed.FindAllStringSubmatch(string(out), -1) {
			red = append(red, name[1])
		}
		s.flags = []string{"-test.skip=^(" + strings.Join(red, "|") + ")$"}
	}
	_, err = p.measure(ctx, s)
	s.flags = append(s.flags, "-test.failfast")
	return s, err
}

func only(tests []string) []string {
	return []string{"-test.run=^(" + strings.Join(tests, "|") + ")$", "-test.failfast"}
}

// idle are the tests that kill none of some mutants, while there is time to try.
func (p *GoPackage) idle(ctx context.Context, tests []string, numbers []int, limit time.Duration, until time.Time) (
	names []string, err error,
) {
	for _, test := range tests {
		killed := false
		for i := 0; i < len(numbers) && !killed; i++ {
			if time.Now().After(until) {
				return names, nil
			}
			if killed, err = p.kills(ctx, newTests, numbers[i], only([]string{test}), limit); err != nil {
				return nil, err
			}
		}
		if !killed {
			names = append(names, test+": no change of the code makes it fail")
		}
	}
	return names, nil
}

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
