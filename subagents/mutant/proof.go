package mutant

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// Proof is what tests tell of the code that they reach. Kills are mutants that live where the other tests of the package run
// alone: what the tests prove. Known are those that the others kill too, Lives those that all tests let live.
type Proof struct {
	Kills, Known, Lives []Mutant
	// Idle are those of several tests that find none of them: empty, always skipped, or true whatever the code does.
	Idle []string
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
	reached, err := p.reached(ctx, tests)
	if err != nil {
		return proof, err
	}
	limit := patience*time.Since(begin) + slack
	otherLimit := slack
	if len(others) > 0 {
		begin = time.Now()
		if _, err := p.reached(ctx, others); err != nil {
			return proof, err
		}
		otherLimit += patience * time.Since(begin)
	}
	proof.Reached = len(reached)
	for _, number := range spread(reached, maxTried) {
		m := p.Mutants[number-1]
		killed, err := p.kills(ctx, number, tests, limit)
		known := false
		if err == nil && len(others) > 0 {
			known, err = p.kills(ctx, number, others, otherLimit)
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
	if len(tests) > 1 {
		proof.Idle, err = p.idle(ctx, tests, slices.Concat(proof.Kills, proof.Known), limit)
	}
	return proof, err
}

// idle are the tests that kill none of some mutants.
func (p *GoPackage) idle(ctx context.Context, tests []string, mutants []Mutant, limit time.Duration) (names []string, err error) {
	for _, test := range tests {
		killed := false
		for i := 0; i < len(mutants) && !killed; i++ {
			if killed, err = p.kills(ctx, mutants[i].Number, []string{test}, limit); err != nil {
				return nil, err
			}
		}
		if !killed {
			names = append(names, test)
		}
	}
	return names, nil
}

var testName = lazyregexp.New(`(?m)^(?:Test|Example|Fuzz)\S*$`)

// others are the tests of the package but for the given.
func (p *GoPackage) others(ctx context.Context, tests []string) (names []string, err error) {
	out, ok, err := p.run(ctx, nil, []string{p.program(), "-test.list=."}, firstLimit)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("list the tests of the package: %w: %s", ErrRefused, lastLine(out))
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
	case len(p.Kills) > 0 && len(p.Idle) > 0:
		return fmt.Sprintf("%s: no change of the code makes it fail", text.Some(p.Idle, maxNamed))
	case len(p.Kills) > 0:
		return ""
	case p.Reached == 0:
		return "the tests reach no statement of the package that they are in"
	case len(p.Lives) == 0:
		return fmt.Sprintf("the other tests of the package find each of the %d changes that the tests find", len(p.Known))
	default:
		return fmt.Sprintf("the tests pass with each of %d changes of code that they reach and that no other test finds",
			len(p.Lives))
	}
}

// In is a mutant for people and models; dir is the directory of its package.
func (m Mutant) In(dir string) string {
	place := fmt.Sprintf("%s:%d in %s: ", path.Join(dir, m.File), m.Line, m.Func)
	if m.New == "" {
		return text.Clip(text.OneLine(place+"without "+m.Old), text.MaxLine)
	}
	return text.Clip(text.OneLine(place+m.Old+" made "+m.New), text.MaxLine)
}
