package mutant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
)

// goSide runs tests of a program of a package.
type goSide struct {
	*GoPackage

	program string
	flags   []string
	limit   time.Duration
}

// Test implements Side.
func (s *goSide) Test(ctx context.Context, number int, only string) (Report, error) {
	if number == 0 {
		number = s.none()
	}
	flags := s.flags
	if only == All {
		flags = nil
	} else if only != "" {
		flags = []string{"-test.v", "-test.run=^" + strings.SplitN(only, "/", 2)[0] + "$"}
	}
	out, ok, err := s.test(ctx, s.program, number, flags, s.limit)
	return report(string(out), ok), err
}

var ran = lazyregexp.New(`(?m)^ *(=== RUN  |--- PASS:|--- FAIL:|--- SKIP:) +(\S+)`)

// report reads what go test -v prints.
func report(out string, ok bool) Report {
	o := Report{
		OK: ok, Passed: map[string]bool{}, Failed: map[string]bool{}, Skipped: map[string]bool{}, Said: map[string]string{},
	}
	began := map[string]int{}
	found := ran.FindAllStringSubmatchIndex(out, -1)
	for _, at := range found {
		name := out[at[4]:at[5]]
		switch mark := out[at[2]:at[3]]; {
		case strings.HasPrefix(mark, "==="):
			began[name] = at[1]
			continue
		case strings.HasSuffix(mark, "PASS:"):
			o.Passed[name] = true
		case strings.HasSuffix(mark, "SKIP:"):
			o.Skipped[name] = true
		case strings.HasSuffix(mark, "FAIL:"):
			o.Failed[name] = true
			o.Said[name] = out[began[name]:at[0]]
		}
		delete(began, name)
	}
	if ok {
		return o
	}
	for name := range began {
		o.Failed[name] = true
	}
	return o
}

// CompareGo compares the tests of a package before and after a patch, until a time: both with the product after it where those
// before compile with that, with the new names of what the patch renames; else each with its own. red are the tests that the
// product after it fails, with what they print; those that the brief asks for are compared too, each with its own product.
func CompareGo(ctx context.Context, e Experiment, t *Touched, until time.Time) (c Comparison, red map[string]string, err error) {
	p := &GoPackage{Experiment: e}
	mutated, err := p.prepare(ctx, newTests, nil)
	if err != nil {
		return c, nil, err
	}
	after := &goSide{p, newTests, t.flags(), firstLimit}
	before := &goSide{p, oldTests, t.flags(), firstLimit}
	ok, err := p.compileOld(ctx, mutated)
	if err != nil {
		return c, nil, err
	}
	if !ok {
		if before.GoPackage, err = p.base(ctx, oldTests, p.Before); err != nil {
			return c, nil, err
		}
	}
	if had, err := p.made(oldTests); err != nil || !had {
		return c, nil, cmp.Or(err, fmt.Errorf("the package had no tests before the patch: %w", ErrRefused))
	}
	if err := p.clean(); err != nil {
		return c, nil, err
	}
	has, _, err := after.control(ctx)
	if err == nil && !t.All && !has.green() { // they may need others of the package
		t.All = true
		after.flags, before.flags = t.flags(), t.flags()
		has, _, err = after.control(ctx)
	}
	if err != nil {
		return c, nil, err
	}
	had, reached, err := before.control(ctx)
	if err != nil {
		return c, nil, err
	}
	if !has.green() {
		return c, nil, fmt.Errorf("the tests fail without a change of the code: %w", ErrRefused)
	}
	red = map[string]string{}
	var asked []string
	for name := range had.Failed {
		if red[name] = had.Said[name]; has.Passed[name] && !strings.Contains(name, "/") && t.Named(name) {
			asked = append(asked, name)
		}
	}
	if had, err = before.green(ctx, had); err != nil {
		return c, nil, err
	}
	of := trial{before, after, had, has, t.Tests(), false}
	if c, err = before.with(ctx, after, reached, of, t, until); err != nil || !ok || len(asked) == 0 {
		return c, red, err
	}
	more, err := after.asked(ctx, t, asked, has, until)
	if c.add(more); errors.Is(err, ErrRefused) {
		err = nil // they tell nothing before the patch
	}
	return c, red, err
}

// with compares the tests of the side with those after the patch by mutants that they reach.
func (s *goSide) with(ctx context.Context, after *goSide, reached []int, of trial, t *Touched, until time.Time) (
	c Comparison, err error,
) {
	all := slices.DeleteFunc(pairsOf(s.Mutants, after.Mutants), func(p Pair) bool {
		return !slices.Contains(reached, p.Before.Number)
	})
	partial := len(all) > maxCompared
	all = t.likeliest(all, maxCompared)
	if s.GoPackage == after.GoPackage {
		all = of.withData(t.alterations(s.Data), [2]*Experiment{&s.Experiment, &after.Experiment}, all)
	}
	c, err = of.compare(ctx, all, until)
	c.Partial = partial
	return c, err
}

// asked compares tests with other expectations than before, which the brief asks for, each with the code of its side.
func (s *goSide) asked(ctx context.Context, t *Touched, names []string, has Report, until time.Time) (c Comparison, err error) {
	after, before := *s, *s
	after.flags = []string{"-test.v", "-test.run=^(" + strings.Join(names, "|") + ")$"}
	before.flags, before.program = after.flags, baseTests
	if before.GoPackage, err = s.base(ctx, baseTests, s.Before); err == nil {
		err = s.clean()
	}
	if err != nil {
		return c, err
	}
	had, reached, err := before.control(ctx)
	if err != nil || !had.OK {
		return c, err
	}
	c, err = before.with(ctx, &after, reached, trial{&before, &after, had, has, names, true}, t, until)
	if err == nil && len(c.Idle) > 0 {
		err = after.settle(ctx, &c)
	}
	return c, err
}

// settle runs the tests with the code before the patch, for those that no mutant needs.
func (s *goSide) settle(ctx context.Context, c *Comparison) (err error) {
	old := *s
	old.program = pinTests
	if old.GoPackage, err = s.base(ctx, pinTests, nil); err == nil {
		err = s.clean()
	}
	var was Report
	if err == nil {
		was, err = old.Test(ctx, 0, "")
	}
	c.pin(was)
	return err
}

// base is the package with the code before the patch, and some files of tests as they were, whose tests are a program.
func (p *GoPackage) base(ctx context.Context, program string, tests map[string][]byte) (*GoPackage, error) {
	old, with := *p, maps.Clone(p.Base)
	if with == nil {
		with = map[string][]byte{}
	}
	maps.Copy(with, tests)
	if _, err := old.prepare(ctx, program, with); err != nil {
		return nil, fmt.Errorf("with the code before the patch: %w", err)
	}
	return &old, nil
}

// compileOld compiles the tests before with the product after the patch, with the new names of what it renames if it can.
func (p *GoPackage) compileOld(ctx context.Context, mutated map[string][]byte) (ok bool, err error) {
	tries := []Renames{p.Renames, nil}
	if len(p.Renames) == 0 {
		tries = tries[1:]
	}
	for _, r := range tries {
		with := maps.Clone(mutated)
		for name, data := range p.Before {
			if with[name] = data; data != nil {
				with[name] = r.In(data)
			}
		}
		if _, ok, err = p.compile(ctx, oldTests, with); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// maxCompared bounds how many mutants are tried before and after.
const maxCompared = 80

// pairsOf are the mutants of both sides.
func pairsOf(before, after []Mutant) (list []Pair) {
	if len(before) > 0 && len(after) > 0 && before[0] != after[0] {
		return pairs(before, after)
	}
	for _, m := range after {
		list = append(list, Pair{m, m})
	}
	return list
}

// control runs the tests of a side without a mutant, and bounds how long they may take with one.
func (s *goSide) control(ctx context.Context) (o Report, reached []int, err error) {
	begin := time.Now()
	reached, out, ok, err := s.GoPackage.control(ctx, s.program, s.flags, firstLimit)
	s.limit = patience*time.Since(begin) + slack
	o = report(string(out), ok)
	o.Times = s.times
	return o, reached, err
}

// green leaves out the tests that fail without a mutant, and returns what the others tell.
func (s *goSide) green(ctx context.Context, o Report) (Report, error) {
	if o.OK {
		return o, nil
	}
	var out []string
	for name := range o.Failed {
		if !strings.Contains(name, "/") {
			out = append(out, name)
		}
	}
	s.flags = append(slices.Clip(s.flags), "-test.skip=^("+strings.Join(out, "|")+")$")
	times := o.Times
	o, err := s.Test(ctx, 0, "")
	o.Times = times
	if err == nil && !o.OK {
		err = fmt.Errorf("the tests before the patch fail without a change of the code: %w", ErrRefused)
	}
	return o, err
}
