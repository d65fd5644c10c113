package mutant

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// maxTests bounds how many mutants are tried in vain with one test, maxProofs after how many that only new tests find no more
	// are tried once each test has found one.
	maxTests, maxProofs = 40, 3
	// maxAlone bounds the tests that run alone to learn what each reaches.
	maxAlone = 20
)

// prover tries mutants with new tests, test by test.
type prover struct {
	Suite
	tests []Test
	about map[Test]About
	// reach has the mutants of each test that are not tried yet, tried how many were, found whether it found one.
	reach map[Test][]int
	tried map[Test]int
	found map[Test]bool
	// asserted reports whether an assertion found one.
	asserted bool
	// before are the tests that were there and reach a mutant.
	before map[int][]Test
	// limits bound a run of each version.
	limits map[Version]time.Duration
	proof  Proof
}

// Prove tries mutants with new tests that reach them, and with the tests before. An assertion has to find one that these do not:
// many changes make code crash, which a test without any notices too. Each new test has to find one, and one about which
// something is odd by an assertion. It begins with no mutant after budget.
func Prove(ctx context.Context, s Suite, tests []Test, about map[Test]About, budget time.Duration) (Proof, error) {
	until := time.Now().Add(budget)
	p := &prover{
		Suite: s, tests: tests, reach: map[Test][]int{}, tried: map[Test]int{}, found: map[Test]bool{}, before: map[int][]Test{},
		limits: map[Version]time.Duration{}, about: about,
	}
	if err := p.measure(ctx); err != nil {
		return p.proof, err
	}
	if err := p.others(ctx); err != nil {
		return p.proof, err
	}
	for n := 0; n < maxTried+2*len(tests) && time.Now().Before(until); n++ {
		number, more := p.next()
		if !more {
			break
		}
		if err := p.try(ctx, number); err != nil {
			return p.proof, err
		}
	}
	for _, t := range tests {
		switch ended := len(p.reach[t]) == 0 || p.tried[t] >= maxTests; {
		case p.found[t] && p.asserted:
		case !ended:
			p.proof.Waiting = append(p.proof.Waiting, t.String())
		case p.tried[t] > 0:
			p.idle(t, fmt.Sprintf("none of %d changes of the code that it reaches makes an assertion of it fail", p.tried[t]))
		}
	}
	return p.proof, nil
}

func (p *prover) idle(t Test, what string) {
	if odd := p.about[t].Odd; odd != "" {
		what += ": " + odd
	}
	p.proof.Idle = append(p.proof.Idle, t.String()+": "+what)
}

// measure runs the new tests without a mutant, which they must pass, and learns what they reach.
func (p *prover) measure(ctx context.Context) error {
	begin := time.Now()
	ran, err := p.Try(ctx, New, 0, p.tests, firstLimit)
	if err != nil {
		return err
	}
	p.limits[New] = patience*time.Since(begin) + slack
	if len(ran.Outcomes) == 0 {
		return fmt.Errorf("no test runs: %w: %s", ErrRefused, lastLine(ran.Said))
	}
	all, tried := map[int]bool{}, map[int]bool{}
	for _, t := range p.tests {
		switch {
		case ran.Kills(t):
			return fmt.Errorf("the tests fail without a change of the code: %w: %s", ErrRefused, t)
		case ran.Outcomes[t] == "":
			p.idle(t, "it does not run")
			continue
		case ran.Outcomes[t] == Skipped:
			p.idle(t, "it is skipped")
			continue
		}
		reached, err := p.reachedBy(ctx, ran, t)
		if err != nil {
			return err
		}
		if len(reached) == 0 {
			p.idle(t, "it reaches no statement of the code")
		}
		for _, m := range reached {
			all[m.Number] = true
			p.reach[t] = append(p.reach[t], m.Number)
		}
		for _, n := range some(p.reach[t], maxTests) {
			tried[n] = true
		}
	}
	for t, numbers := range p.reach {
		p.reach[t] = slices.DeleteFunc(numbers, func(n int) bool { return !tried[n] })
	}
	p.proof.Reached = len(all)
	return nil
}

// reachedBy are the mutants that a test reaches, the likeliest first. Where only those of all tests are known, it runs alone.
func (p *prover) reachedBy(ctx context.Context, ran Ran, t Test) ([]Mutant, error) {
	if len(ran.Reached[t]) == 0 && len(ran.Reached[Test{}]) > 0 && 1 < len(p.tests) && len(p.tests) <= maxAlone {
		alone, err := p.Try(ctx, New, 0, []Test{t}, firstLimit)
		if err != nil {
			return nil, err
		}
		if alone.Outcomes[t] == Passed {
			ran = alone
		}
	}
	numbers := ran.reachedBy(t)
	mutants := slices.DeleteFunc(slices.Clone(p.All()), func(m Mutant) bool {
		_, found := slices.BinarySearch(numbers, m.Number)
		return !found
	})
	return likeliest(p.about[t].Text, mutants), nil
}

// reachedBy are the mutants that a test reaches, or that some test does which is not known.
func (r Ran) reachedBy(t Test) []int {
	all := slices.Concat(r.Reached[t], r.Reached[Test{File: t.File}], r.Reached[Test{}])
	slices.Sort(all)
	return slices.Compact(all)
}

// keeper is a suite that can do without some of its mutants.
type keeper interface{ Keep(numbers []int) }

// others runs the tests before without a mutant, and learns which reach those that are tried.
func (p *prover) others(ctx context.Context) error {
	if k, ok := p.Suite.(keeper); ok {
		var numbers []int
		for _, list := range p.reach {
			numbers = append(numbers, list...)
		}
		k.Keep(numbers)
	}
	begin := time.Now()
	ran, err := p.Try(ctx, Old, 0, nil, firstLimit)
	if err != nil {
		return err
	}
	p.limits[Old] = patience*time.Since(begin) + slack
	for t, outcome := range ran.Outcomes {
		if outcome != Passed {
			continue
		}
		for _, n := range ran.reachedBy(t) {
			p.before[n] = append(p.before[n], t)
		}
	}
	return nil
}

// next is a mutant of the test that was tried the least without success; once each has found one, of any test until enough is
// proven.
func (p *prover) next() (number int, more bool) {
	var of *Test
	for i, t := range p.tests {
		waits := len(p.reach[t]) > 0 && (!p.found[t] && p.tried[t] < maxTests || len(p.proof.Kills) < maxProofs)
		if waits && (of == nil || p.found[*of] && !p.found[t] || p.found[*of] == p.found[t] && p.tried[t] < p.tried[*of]) {
			of = &p.tests[i]
		}
	}
	if of == nil {
		return 0, false
	}
	return p.reach[*of][0], true
}

// try tells what finds a mutant.
func (p *prover) try(ctx context.Context, number int) error {
	own := slices.DeleteFunc(slices.Clone(p.tests), func(t Test) bool { return !slices.Contains(p.reach[t], number) })
	ran, err := p.Try(ctx, New, number, own, p.limits[New])
	if err != nil {
		return err
	}
	killed, lives := p.read(ran, own, number)
	if !killed && !lives || lives && len(p.proof.Lives) >= maxProofs*2 {
		return nil
	}
	known, err := p.known(ctx, number)
	if err != nil {
		return err
	}
	if killed && !known {
		if killed, err = p.again(ctx, ran, own, number); err != nil {
			return err
		}
	}
	m := p.All()[slices.IndexFunc(p.All(), func(m Mutant) bool { return m.Number == number })]
	switch {
	case known:
		p.proof.Known = append(p.proof.Known, m)
	case killed:
		p.proof.Kills = append(p.proof.Kills, m)
	case lives:
		p.proof.Lives = append(p.proof.Lives, m)
	}
	return nil
}

// read counts what tests make of a mutant: one of them finds it, or it lives. With code that cannot be loaded it does neither.
func (p *prover) read(ran Ran, own []Test, number int) (killed, lives bool) {
	lives = len(ran.Outcomes) > 0
	for _, t := range own {
		p.reach[t] = slices.DeleteFunc(slices.Clone(p.reach[t]), func(n int) bool { return n == number })
		if len(ran.Outcomes) == 0 {
			continue
		}
		p.tried[t]++
		if ran.Outcomes[t] == Failed {
			killed, p.asserted, p.found[t] = true, true, true
		}
		p.found[t] = p.found[t] || ran.Kills(t) && p.about[t].Odd == ""
		lives = lives && !ran.Kills(t)
	}
	return killed, lives
}

// known reports whether a test before finds a mutant.
func (p *prover) known(ctx context.Context, number int) (bool, error) {
	tests := p.before[number]
	if len(tests) == 0 {
		return false, nil
	}
	ran, err := p.Try(ctx, Old, number, tests, p.limits[Old])
	return slices.ContainsFunc(tests, ran.Kills), err
}

// again reports whether tests that found a mutant pass without it, and find it again: what fails now and then proves nothing.
func (p *prover) again(ctx context.Context, before Ran, own []Test, number int) (bool, error) {
	without, err := p.Try(ctx, New, 0, own, p.limits[New])
	if err != nil {
		return false, err
	}
	with, err := p.Try(ctx, New, number, own, p.limits[New])
	return slices.ContainsFunc(own, func(t Test) bool {
		return before.Outcomes[t] == Failed && without.Outcomes[t] == Passed && with.Outcomes[t] == Failed
	}), err
}
