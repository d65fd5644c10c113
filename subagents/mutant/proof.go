package mutant

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Proof is what tests tell of the code that they reach. Kills are mutants that live where the other tests of the package run
// alone: what the tests prove. Known are those that the others kill too, Lives those that all tests let live.
type Proof struct {
	Kills, Known, Lives []Mutant
	// Reached is how many mutants the tests reach.
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

// Prove runs tests of the package with mutants that they reach, and those that they kill with the others.
func (p *GoPackage) Prove(ctx context.Context, tests []string) (proof Proof, err error) {
	others, err := p.others(ctx, tests)
	if err != nil {
		return proof, err
	}
	begin := time.Now()
	reached, err := p.Reached(ctx, tests, firstLimit)
	if err != nil {
		return proof, err
	}
	limit := patience*time.Since(begin) + slack
	otherLimit := slack
	if len(others) > 0 {
		begin = time.Now()
		if _, err := p.Reached(ctx, others, firstLimit); err != nil {
			return proof, err
		}
		otherLimit += patience * time.Since(begin)
	}
	proof.Reached = len(reached)
	for _, number := range spread(reached, maxTried) {
		m := p.Mutants[number-1]
		killed, err := p.Kills(ctx, number, tests, limit)
		known := false
		if err == nil && len(others) > 0 {
			known, err = p.Kills(ctx, number, others, otherLimit)
		}
		switch {
		case err != nil:
			return proof, err
		case known:
			proof.Known = append(proof.Known, m)
		case killed:
			proof.Kills = append(proof.Kills, m)
		default:
			proof.Lives = append(proof.Lives, m)
		}
	}
	return proof, nil
}

var testName = regexp.MustCompile(`(?m)^Test\S*$`)

// others are the tests of the package but for the given.
func (p *GoPackage) others(ctx context.Context, tests []string) (names []string, err error) {
	out, err := run(ctx, p.dir, nil, p.program, "-test.list=^Test")
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w: %s", p.dir, err, lastLine(out))
	}
	return slices.DeleteFunc(testName.FindAllString(string(out), -1), func(name string) bool {
		return slices.Contains(tests, name)
	}), nil
}

// spread takes some of a list, at even distances.
func spread(list []int, most int) (some []int) {
	for i := range min(len(list), most) {
		some = append(some, list[i*len(list)/min(len(list), most)])
	}
	return some
}

// Refusal is why the tests prove nothing; "" where they kill a mutant that lived.
func (p Proof) Refusal() string {
	switch {
	case len(p.Kills) > 0:
		return ""
	case p.Reached == 0:
		return "the tests reach no statement of the package that they are in"
	case len(p.Lives) == 0:
		return fmt.Sprintf("the other tests of the package find each of the %d changes that the tests find", len(p.Known))
	default:
		return fmt.Sprintf("the tests pass with each of %d changes of code that they reach and that no other test finds", len(p.Lives))
	}
}

// Survivors names mutants that all tests let live, a line each: the brief of the next attempt.
func (p Proof) Survivors(most int) string {
	var b strings.Builder
	for _, m := range p.Lives[:min(len(p.Lives), most)] {
		fmt.Fprintf(&b, "%s\n", m)
	}
	return b.String()
}

// String is a mutant for people and models.
func (m Mutant) String() string {
	place := fmt.Sprintf("%s:%d in %s: ", m.File, m.Line, m.Func)
	if m.New == "" {
		return place + "without " + m.Old
	}
	return place + m.Old + " made " + m.New
}
