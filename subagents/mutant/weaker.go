package mutant

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what a run of tests told: each test that passed and each that failed, by its name. One that was running when the
// program ended otherwise has failed. Said is what was printed of each that failed.
type Report struct {
	Passed, Failed, Skipped map[string]bool
	Said                    map[string]string
	// Times is, of a run without a mutant, how often it reached each, about.
	Times map[int]int
	// OK reports whether the program ended well: no test has failed then, whatever it printed.
	OK bool
}

// green reports whether tests ran and none failed.
func (r *Report) green() bool { return r.OK && len(r.Failed) == 0 }

// Side are the tests that a patch touches, as they were before it or as it left them, in a program with mutants. Test runs them,
// or one of them, with a mutant; 0 is none. An error of the tests themselves is ErrRefused.
type Side interface {
	Test(ctx context.Context, number int, only string) (Report, error)
}

// Pair is a mutant in the programs of both sides.
type Pair struct{ Before, After Mutant }

// Weakness is a mutant that a test failed with before, and passes with now; Test is "" where it is all tests together that pass.
// Or it is one that tests reached so many times before, and so many now.
type Weakness struct {
	Mutant      Mutant
	Test        string
	Before, Now int
}

// Comparison is what tests tell before and after a patch that touches them. Weaker are the mutants that they no longer notice,
// Kept those that they still do; Idle are touched tests that noticed none of them before.
type Comparison struct {
	Weaker []Weakness
	Kept   []Mutant
	Idle   []string
	// Tried is how many mutants were tried, Untried how many there was no time for, Waiting the touched tests that noticed none
	// before it ran out. Partial reports whether the tests reach more than these.
	Tried, Untried int
	Waiting        []string
	Partial        bool
}

// maxWeaker bounds how many mutants that live now are looked for: more tell nothing new.
const maxWeaker = 3

// trial is what tests are compared with: had and has are what each side told without a mutant, touched the tests whose text
// differs. Where they are asked to be otherwise a mutant counts that no test of all notices any more.
type trial struct {
	before, after Side
	had, has      Report
	touched       []string
	asked         bool
}

// compare tries mutants on both sides, until a time.
func (t trial) compare(ctx context.Context, pairs []Pair, until time.Time) (c Comparison, err error) {
	noticed := map[string]bool{}
	c.Weaker = less(t.had, t.has, pairs)
	for i, pair := range pairs {
		if len(c.Weaker) == maxWeaker {
			break
		}
		if time.Now().After(until) {
			c.Untried = len(pairs) - i
			break
		}
		c.Tried++
		was, err := t.before.Test(ctx, pair.Before.Number, "")
		if err != nil {
			return c, err
		}
		maps.Copy(noticed, was.Failed)
		if was.OK {
			continue
		}
		w, kept, err := t.lost(ctx, was, pair)
		if err == nil && w != nil {
			w, err = t.sure(ctx, *w, pair)
		}
		if err != nil {
			return c, err
		}
		if kept && pair.After.Kind != Row { // it is none of the code
			c.Kept = append(c.Kept, pair.After)
		}
		if w != nil {
			c.Weaker = append(c.Weaker, *w)
		}
	}
	if len(c.Weaker) == 0 && len(c.Kept) > 0 {
		err = steady(ctx, t.before, t.after)
	}
	silent := slices.DeleteFunc(slices.Clone(t.touched), func(name string) bool {
		return !t.had.Passed[name] || !t.has.Passed[name] || noticed[name]
	})
	if c.Idle = silent; c.Untried > 0 {
		c.Idle, c.Waiting = nil, silent
	}
	return c, err
}

// steady reports whether tests still pass without a mutant.
func steady(ctx context.Context, sides ...Side) error {
	for _, side := range sides {
		if again, err := side.Test(ctx, 0, ""); err != nil || !again.OK {
			return cmp.Or(err, fmt.Errorf("the tests do not pass each time without a change of the code: %w", ErrRefused))
		}
	}
	return nil
}

// add adds what another comparison tells.
func (c *Comparison) add(o Comparison) {
	c.Weaker, c.Kept = append(c.Weaker, o.Weaker...), append(c.Kept, o.Kept...)
	c.Idle, c.Waiting = append(c.Idle, o.Idle...), append(c.Waiting, o.Waiting...)
	c.Tried, c.Untried, c.Partial = c.Tried+o.Tried, c.Untried+o.Untried, c.Partial || o.Partial
}

// pin takes out of the idle tests those that fail with the code before the patch: they notice the patch itself.
func (c *Comparison) pin(was Report) {
	c.Idle = slices.DeleteFunc(c.Idle, func(name string) bool { return was.Failed[name] })
}

// rarely is how often tests reach what they reached more than rarely times as often before, that it tells something.
const rarely = 16

// less is the mutant that tests reach far more seldom than before: they repeat less.
func less(had, has Report, pairs []Pair) (list []Weakness) {
	var most Weakness
	for _, p := range pairs {
		w := Weakness{Mutant: p.After, Before: had.Times[p.Before.Number], Now: has.Times[p.After.Number]}
		if w.Now > 0 && w.Before >= rarely*w.Now && w.Before > most.Before {
			most = w
		}
	}
	if most.Before > 0 {
		list = append(list, most)
	}
	return list
}

// All stands for all tests of a package, also those that the patch does not touch.
const All = "*"

// lost returns the test that no longer notices a mutant which tests noticed before; nil for none. kept reports that they all do.
// A new test that fails with it pays for those that no longer do, and any test for those that are gone.
func (t trial) lost(ctx context.Context, was Report, pair Pair) (w *Weakness, kept bool, err error) {
	now, err := t.after.Test(ctx, pair.After.Number, "")
	if err != nil {
		return nil, false, err
	}
	for name := range now.Failed {
		if !t.had.Passed[name] && !t.had.Failed[name] {
			return nil, true, nil
		}
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(was.Failed)), func(name string) bool {
		return !t.has.Passed[name] || !t.had.Passed[name]
	})
	for _, name := range names {
		if now.Failed[name] {
			continue
		}
		if !now.Passed[name] { // another test ended the program before
			one, err := t.after.Test(ctx, pair.After.Number, name)
			if err != nil {
				return nil, false, err
			}
			if !one.OK {
				continue
			}
		}
		w = &Weakness{Mutant: pair.After, Test: name}
		break
	}
	if w == nil && (len(names) > 0 || !now.OK) {
		return nil, true, nil
	}
	if w != nil && !t.asked {
		return w, false, nil
	}
	all, err := t.after.Test(ctx, pair.After.Number, All)
	if err != nil || !all.OK {
		return nil, err == nil, err
	}
	return cmp.Or(w, &Weakness{Mutant: pair.After}), false, nil
}

// sure returns a weakness that is there some times more, while the tests before pass without a mutant: a test that fails now and
// then tells nothing.
func (t trial) sure(ctx context.Context, w Weakness, pair Pair) (*Weakness, error) {
	clean, err := t.before.Test(ctx, 0, "")
	if err != nil || !clean.OK {
		return nil, err
	}
	was, err := t.before.Test(ctx, pair.Before.Number, "")
	if err != nil || was.OK || w.Test != "" && !was.Failed[w.Test] {
		return nil, err
	}
	for range chances {
		again, _, err := t.lost(ctx, was, pair)
		if err != nil || again == nil {
			return nil, err
		}
	}
	return &w, nil
}

// chances is how often tests get one more to notice a mutant: those with inputs by chance may.
const chances = 3

// In is a weakness for people; dir is the directory of its package.
func (w Weakness) In(dir string) string {
	if w.Before > 0 {
		return fmt.Sprintf("tests repeat less: they reached %s about %d times before the patch, and do now %d times",
			w.Mutant.at(dir), w.Before, w.Now)
	}
	tests := "the tests before fail, the new ones pass"
	if w.Test != "" {
		tests = fmt.Sprintf("%s before the patch fails, the new one passes", w.Test)
	}
	if w.Mutant.Kind == Row && w.Mutant.New == "" {
		return fmt.Sprintf("tests are weaker: %s is gone, and with another value there %s", w.Mutant.gone(dir), tests)
	}
	return fmt.Sprintf("tests are weaker: with %s, %s", w.Mutant.In(dir), tests)
}

// pairs are the mutants that two programs have but for names: those of the same file, kind and form, where both have as many of
// them.
func pairs(before, after []Mutant) (list []Pair) {
	forms := map[string][]Mutant{}
	for _, m := range before {
		forms[m.form()] = append(forms[m.form()], m)
	}
	of := map[string][]Mutant{}
	for _, m := range after {
		of[m.form()] = append(of[m.form()], m)
	}
	for _, m := range after {
		form := m.form()
		if i := slices.Index(of[form], m); len(forms[form]) == len(of[form]) {
			list = append(list, Pair{forms[form][i], m})
		}
	}
	return list
}

// form is a mutant without names.
func (m Mutant) form() string {
	return strings.Join([]string{m.File, string(m.Kind), formOf(m.Old, false), formOf(m.New, false)}, "\x00")
}
