package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/mutant"
)

// leastKept is how many mutants the tests of a package have to notice, before a patch and after it, for what they tell to count.
const leastKept = 5

// compared is what the tests of a directory tell before and after a patch.
type compared struct {
	mutant.Comparison
	// hidden are changes of what the code does, in words: tests before fail with the code after. tests is how many were compared.
	hidden []string
	tests  int
	// dir is the directory that the files of mutants are named from.
	dir string
	// named are the tests before that fail with the code after because the brief asks for that.
	named int
}

// engine compares the tests in a directory before and after the patch, whose files it gets, until a time.
type engine func(t *Executor, ctx context.Context, dir string, changed []string, until time.Time) (compared, error)

// engineOf is the engine for files with tests, by their ending; nil for none.
func engineOf(ending string) engine {
	for _, one := range languages {
		if slices.Contains(one.extensions, ending) {
			return one.engine()
		}
	}
	if ending == ".go" {
		return (*Executor).compareGo
	}
	return nil
}

// weaker tries whether the tests that a patch touches, in the directories of the files of the task, still notice what they did
// before. Its verdict is good where nothing speaks against that; its signatures are what does, for people.
func (t *Executor) weaker(ctx context.Context, g *spec.Gate) (spec.Receipt, error) {
	begin := time.Now()
	r := spec.Receipt{
		Version: spec.ReceiptVersion, Gate: g.Name, Command: g.Command, Tree: t.Tree, Since: t.Assignment.Since,
		Environment: t.environment, Kind: spec.KindTests, Verdict: spec.VerdictPass,
	}
	dirs := map[string]string{}
	for _, file := range t.Assignment.Task.Files {
		dirs[path.Dir(file)] = path.Ext(file)
	}
	changed, err := t.Changed(ctx, t.Assignment.Since)
	if err != nil {
		return r, fmt.Errorf("find the tests that differ from %s: %w", t.Assignment.Since, err)
	}
	for i, dir := range slices.Sorted(maps.Keys(dirs)) {
		left := g.Timeout.Std() - time.Since(begin)
		until := time.Now().Add(left / time.Duration(len(dirs)-i))
		err := t.weakerIn(ctx, dir, dirs[dir], changed, until, &r)
		if errors.Is(err, mutant.ErrRefused) {
			r.Tail += line("no experiment with the tests of "+of(dir)+": "+err.Error()) + "\n"
		} else if err != nil {
			return r, fmt.Errorf("compare the tests in %s: %w", dir, err)
		}
	}
	if r.Kills = r.Kills[:min(len(r.Kills), maxKills)]; len(r.Signatures) > 0 || r.Tail != "" {
		r.Verdict, r.ExitCode = spec.VerdictFail, 1
	}
	slices.Sort(r.Signatures)
	r.Signatures, r.Duration = slices.Compact(r.Signatures), time.Since(begin)
	return r, t.leave(ctx, &r)
}

func line(words string) string { return text.Clip(text.OneLine(words), text.MaxLine) }

// weakerIn adds to a receipt what speaks against the tests of one directory, and why nothing can be told of them.
func (t *Executor) weakerIn(ctx context.Context, dir, ending string, changed []string, until time.Time, r *spec.Receipt) error {
	engine := engineOf(ending)
	if engine == nil {
		return fmt.Errorf("%w: no mutants of *%s files", mutant.ErrRefused, ending)
	}
	c, err := engine(t, ctx, dir, changed, until)
	if err != nil {
		return err
	}
	for _, m := range c.Kept {
		r.Kills = append(r.Kills, m.In(c.dir))
	}
	r.Tests += c.tests
	r.Passed += len(c.Kept)
	for _, hidden := range c.hidden {
		r.Signatures = append(r.Signatures, line(hidden))
	}
	for _, w := range c.Weaker {
		r.Signatures = append(r.Signatures, line(w.In(c.dir)))
	}
	switch {
	case len(c.hidden)+len(c.Weaker) > 0 || c.named > 0 && len(c.Idle) == 0:
	case len(c.Kept) < leastKept:
		r.Tail += fmt.Sprintf("the tests of %s noticed %d changes of the code, before the patch and after it: too few to tell; "+
			"not tried for lack of time: %d\n", of(dir), len(c.Kept), c.Untried)
	case len(c.Idle) > 0:
		r.Tail += line(text.Some(c.Idle, maxIdle)+" noticed none of the changes of the code that were tried") + "\n"
	}
	return nil
}

// maxIdle bounds how many tests a line names.
const maxIdle = 3

// touched are the Go files of tests that a patch changes, by their paths, before and after, and other Go files: the product, as
// it was and since the patch.
type touched struct {
	before, after  map[string][]byte
	product, since map[string][]byte
	renames        mutant.Renames
	tests          mutant.Touched
}

// touched reads what the patch changes of the tests in a directory, and of the code.
func (t *Executor) touched(ctx context.Context, dir string, changed []string) (*touched, error) {
	f := &touched{
		before: map[string][]byte{}, after: map[string][]byte{}, product: map[string][]byte{}, since: map[string][]byte{},
	}
	for _, file := range changed {
		if path.Ext(file) != ".go" {
			continue
		}
		before, err := t.ReadAt(ctx, t.Assignment.Since, file)
		if err != nil {
			return nil, err
		}
		after, err := t.ReadAt(ctx, t.Assignment.Head, file)
		if err != nil {
			return nil, err
		}
		if !mutant.OfTests(file, before) && !mutant.OfTests(file, after) {
			f.product[file], f.since[file] = before, after
			continue
		}
		f.before[file], f.after[file] = before, after
	}
	return f, f.find(dir)
}

// find finds the tests of a directory that differ in more than names.
func (f *touched) find(dir string) error {
	f.renames = mutant.RenamesOf(f.product, f.since)
	for file, after := range f.after {
		if path.Dir(file) != dir {
			continue
		}
		if bytes.Contains(after, []byte("DIVISI_")) {
			return fmt.Errorf("%w: %s names a variable of the program that tries the tests", mutant.ErrRefused, file)
		}
		if err := f.tests.Add(file, f.before[file], after, f.renames); err != nil {
			return fmt.Errorf("%w: %w", mutant.ErrRefused, err)
		}
	}
	f.tests.Rename(f.renames, f.before, f.after)
	return nil
}

// compareGo compares the tests of a Go package.
func (t *Executor) compareGo(ctx context.Context, dir string, changed []string, until time.Time) (c compared, err error) {
	f, err := t.touched(ctx, dir, changed)
	if err != nil {
		return c, err
	}
	if c.tests = len(f.tests.Tests()); c.tests == 0 && !f.tests.All {
		return c, fmt.Errorf("%w: they differ in names alone", mutant.ErrRefused)
	}
	e, end, err := t.experiment(dir)
	if err != nil {
		return c, err
	}
	defer end()
	e.Renames = f.renames
	e.Restore = func(ctx context.Context) error {
		_, err := t.Restore(ctx)
		return err
	}
	if e.Before, err = from(dir, f.before); err != nil {
		return c, err
	}
	if e.Base, err = from(dir, f.product); err != nil {
		return c, err
	}
	e.Wanted = func(m mutant.Mutant) bool { _, tests := e.Before[m.File]; return !tests }
	var red map[string]string
	c.dir = dir
	c.Comparison, red, err = mutant.CompareGo(ctx, e, &f.tests, until)
	for name, said := range red {
		if hidden := hides(&f.tests, name, said, t.Assignment.Task.Brief, f.product, f.since); hidden != "" {
			c.hidden = append(c.hidden, hidden)
		} else {
			c.named++
		}
	}
	return c, err
}

// from are files by their paths from a directory.
func from(dir string, files map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	for file, data := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, fmt.Errorf("find the way from %s to %s: %w", dir, file, err)
		}
		out[name] = data
	}
	return out, nil
}

// hides tells that a test as it was before fails with the code of the patch, with both lines; "" where the brief asks for that.
func hides(t *mutant.Touched, name, said, brief string, before, since map[string][]byte) string {
	if t.Named(name, brief, before, since) {
		return ""
	}
	was, now := t.Lines(name)
	switch {
	case was == "":
		was = "without " + text.Quote(text.Short(now, maxLine))
	case now == "":
		was = "with " + text.Quote(text.Short(was, maxLine))
	default:
		was = text.Quote(text.Short(was, maxLine)) + " made " + text.Quote(text.Short(now, maxLine))
	}
	return fmt.Sprintf("a change is hidden: %s before the patch fails with its code, the new one passes: %s; %s", name, was,
		text.Quote(text.Short(strings.TrimSpace(said), maxLine)))
}

// maxLine bounds, in characters, a line of a test in a message.
const maxLine = 80
