package mutant

import (
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
	Passed, Failed map[string]bool
	Said           map[string]string
	// OK reports whether the program ended well: no test has failed then, whatever it printed.
	OK bool
}

// Side are the tests that a patch touches, as they were before it or as it left them, in a program with mutants. Test runs them,
// or one of them, with a mutant; 0 is none. An error of the tests themselves is ErrRefused.
type Side interface {
	Test(ctx context.Context, number int, only string) (Report, error)
}

// Pair is a mutant in the programs of both sides.
type Pair struct{ Before, After Mutant }

// Weakness is a mutant that a test failed with before, and passes with now. Test is "" where it is all the touched tests together
// that pass.
type Weakness struct {
	Mutant Mutant
	Test   string
}

// Comparison is what tests tell before and after a patch that touches them. Weaker are the mutants that they no longer notice,
// Kept those that they still do; Idle are touched tests that noticed none of them before.
type Comparison struct {
	Weaker []Weakness
	Kept   []Mutant
	Idle   []string
	// Untried is how many mutants there was no time for.
	Untried int
}

// maxWeaker bounds how many mutants that live now are looked for: more tell nothing new.
const maxWeaker = 3

// compare tries mutants on both sides, until a time. had and has are what each side told without one; touched are the tests whose
// text differs.
func compare(ctx context.Context, before, after Side, had, has Report, touched []string, pairs []Pair, until time.Time) (
	c Comparison, err error,
) {
	noticed := map[string]bool{}
	for i, pair := range pairs {
		if len(c.Weaker) == maxWeaker || time.Now().After(until) {
			c.Untried = len(pairs) - i
			break
		}
		was, err := before.Test(ctx, pair.Before.Number, "")
		if err != nil {
			return c, err
		}
		maps.Copy(noticed, was.Failed)
		if was.OK {
			continue
		}
		w, err := lost(ctx, after, was, had, has, pair)
		if err == nil && w != nil {
			w, err = sure(ctx, before, after, *w, had, has, pair)
		}
		switch {
		case err != nil:
			return c, err
		case w != nil:
			c.Weaker = append(c.Weaker, *w)
		default:
			c.Kept = append(c.Kept, pair.After)
		}
	}
	for _, name := range touched {
		if had.Passed[name] && has.Passed[name] && !noticed[name] {
			c.Idle = append(c.Idle, name)
		}
	}
	return c, nil
}

// lost returns the test that no longer notices a mutant which tests noticed before; nil for none. A new test that fails with it
// pays for those that no longer do.
func lost(ctx context.Context, after Side, was, had, has Report, pair Pair) (*Weakness, error) {
	now, err := after.Test(ctx, pair.After.Number, "")
	if err != nil {
		return nil, err
	}
	if now.OK {
		return &Weakness{Mutant: pair.After, Test: first(was.Failed, has.Passed)}, nil
	}
	for name := range now.Failed {
		if !had.Passed[name] && !had.Failed[name] {
			return nil, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Failed)) {
		if !has.Passed[name] || !had.Passed[name] || now.Failed[name] {
			continue
		}
		if !now.Passed[name] { // another test ended the program before
			one, err := after.Test(ctx, pair.After.Number, name)
			if err != nil {
				return nil, err
			}
			if !one.OK {
				continue
			}
		}
		return &Weakness{Mutant: pair.After, Test: name}, nil
	}
	return nil, nil
}

// first is the first of some tests that are among others; "" for none.
func first(of, among map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if among[name] {
			return name
		}
	}
	return ""
}

// sure returns a weakness that is there once more, while the tests before pass without a mutant: a test that fails now and then
// tells nothing.
func sure(ctx context.Context, before, after Side, w Weakness, had, has Report, pair Pair) (*Weakness, error) {
	clean, err := before.Test(ctx, 0, "")
	if err != nil || !clean.OK {
		return nil, err
	}
	was, err := before.Test(ctx, pair.Before.Number, "")
	if err != nil || was.OK || w.Test != "" && !was.Failed[w.Test] {
		return nil, err
	}
	return lost(ctx, after, was, had, has, pair)
}

// In is a weakness for people; dir is the directory of its package.
func (w Weakness) In(dir string) string {
	tests := "the tests before fail, the new ones pass"
	if w.Test != "" {
		tests = fmt.Sprintf("%s before the patch fails, the new one passes", w.Test)
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
