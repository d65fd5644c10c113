package tester

import (
	"bytes"
	"cmp"
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

// leastKept is how many mutants the tests of a package have to notice, before a patch and after it, for what they tell to count;
// leastOfAll where they reach no others.
const leastKept, leastOfAll = 5, 3

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

// patched are the files that a patch changes, and those of them that are data of tests.
type patched struct {
	changed []string
	data    mutant.Data
}

// engine compares the tests in a directory before and after a patch until a time.
type engine func(t *Executor, ctx context.Context, dir string, p *patched, until time.Time) (compared, error)

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
	p := &patched{}
	var err error
	if p.changed, err = t.Changed(ctx, t.Assignment.Since); err == nil {
		p.data, err = t.dataOf(ctx, p.changed)
	}
	if err != nil {
		return r, fmt.Errorf("find the tests that differ from %s: %w", t.Assignment.Since, err)
	}
	dirs := map[string]string{}
	for _, file := range t.Assignment.Task.Files {
		files := []string{file}
		if mutant.IsData(file) {
			files = p.data.Readers
		}
		for _, file := range files {
			dirs[path.Dir(file)] = path.Ext(file)
		}
	}
	for i, dir := range slices.Sorted(maps.Keys(dirs)) {
		left := (g.Timeout.Std() - time.Since(begin)) / time.Duration(len(dirs)-i)
		bounded, cancel := context.WithTimeoutCause(ctx, left, errSlow)
		err := t.weakerIn(bounded, dir, dirs[dir], p, time.Now().Add(left-left/5), &r)
		if err != nil && errors.Is(context.Cause(bounded), errSlow) {
			err = errSlow
		}
		cancel()
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

// dataOf are the data of tests: those among changed files, and those that changed tests read.
func (t *Executor) dataOf(ctx context.Context, changed []string) (d mutant.Data, err error) {
	d = mutant.Data{Before: map[string][]byte{}, After: map[string][]byte{}, Same: map[string][]byte{}}
	for _, file := range changed {
		if !mutant.IsData(file) {
			continue
		}
		if d.Before[file], err = t.ReadAt(ctx, t.Assignment.Since, file); err == nil {
			d.After[file], err = t.ReadAt(ctx, t.Assignment.Head, file)
		}
		if err != nil {
			return d, err
		}
	}
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return d, err
	}
	var tests, same []string
	for _, file := range slices.Sorted(maps.Keys(blobs)) {
		switch {
		case slices.Contains(changed, file):
		case mutant.IsData(file):
			same = append(same, file)
		}
		if engineOf(path.Ext(file)) != nil && t.isTest(file) {
			tests = append(tests, file)
		}
	}
	if len(d.Before)+len(same) == 0 {
		return d, nil
	}
	texts := map[string][]byte{}
	for _, test := range tests {
		if texts[test], err = t.ReadAt(ctx, t.Assignment.Head, test); err != nil {
			return d, err
		}
	}
	d.Readers = mutant.ReadersOf(d.Before, texts)
	for _, file := range same[:min(len(same), maxSame)] {
		readers := mutant.ReadersOf(map[string][]byte{file: nil}, texts)
		if !slices.ContainsFunc(readers, func(test string) bool { return slices.Contains(changed, test) }) {
			continue
		}
		if d.Same[file], err = t.ReadAt(ctx, t.Assignment.Head, file); err != nil {
			return d, err
		}
	}
	return d, nil
}

// maxSame bounds the files of data that a patch leaves alone and that may have readers.
const maxSame = 200

// isTest reports whether a file has tests that an experiment can run.
func (t *Executor) isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || slices.ContainsFunc(languages, func(one interpretedLanguage) bool {
		return slices.Contains(one.extensions, path.Ext(file)) && one.of(nil).IsTest(file)
	})
}

// errSlow is why an experiment ends that would take longer than it may.
var errSlow = fmt.Errorf("%w: it takes longer than experiments may in this run", mutant.ErrRefused)

func line(words string) string { return text.Clip(text.OneLine(words), text.MaxLine) }

// weakerIn adds to a receipt what speaks against the tests of one directory, and why nothing can be told of them.
func (t *Executor) weakerIn(ctx context.Context, dir, ending string, p *patched, until time.Time, r *spec.Receipt) error {
	engine := engineOf(ending)
	if engine == nil {
		return fmt.Errorf("%w: no mutants of *%s files", mutant.ErrRefused, ending)
	}
	c, err := engine(t, ctx, dir, p, until)
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
	least := leastOfAll
	if c.Partial {
		least = leastKept
	}
	if c.named == 0 && (c.Untried > 0 && (len(c.Kept) < leastKept || c.Untried > c.Tried) || len(c.Waiting) > 0) {
		r.Tail += line(fmt.Sprintf("no time for %d changes of the code of %s; tests that had noticed none: %s", c.Untried,
			of(dir), cmp.Or(text.Some(c.Waiting, maxWaiting), "none"))) + "\n"
	}
	switch {
	case len(c.hidden)+len(c.Weaker) > 0 || c.named > 0 && len(c.Idle) == 0:
	case len(c.Kept) < least:
		r.Tail += fmt.Sprintf("the tests of %s noticed %d changes of the code, before the patch and after it: too few to tell\n",
			of(dir), len(c.Kept))
	case len(c.Idle) > 0:
		r.Idle += len(c.Idle)
		r.Tail += line(text.Some(c.Idle, maxIdle)+" noticed none of the changes of the code that were tried") + "\n"
	}
	return nil
}

// maxIdle bounds how many tests a line names, maxWaiting how many that were not tried.
const maxIdle, maxWaiting = 3, 20

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
func (t *Executor) compareGo(ctx context.Context, dir string, p *patched, until time.Time) (c compared, err error) {
	f, err := t.touched(ctx, dir, p.changed)
	if err != nil {
		return c, err
	}
	data, err := dataBelow(dir, p.data)
	if err != nil {
		return c, err
	}
	f.tests.Read(data)
	if c.tests = len(f.tests.Tests()); c.tests == 0 && !f.tests.All {
		return c, fmt.Errorf("%w: they differ in names alone", mutant.ErrRefused)
	}
	e, end, err := t.experiment(dir)
	if err != nil {
		return c, err
	}
	defer end()
	e.Renames, e.Data = f.renames, data
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
	e.Fold = mutant.FoldOf(f.before, f.after)
	e.Wanted = func(m mutant.Mutant) bool { _, tests := e.Before[m.File]; return !tests }
	var red map[string]string
	c.dir = dir
	f.tests.Brief, f.tests.Product, f.tests.Since = t.Assignment.Task.Brief, f.product, f.since
	c.Comparison, red, err = mutant.CompareGo(ctx, e, &f.tests, until)
	c.add(&f.tests, red)
	return c, err
}

// add adds tests before that fail with the code after, with what they print.
func (c *compared) add(t *mutant.Touched, red map[string]string) {
	for name, said := range red {
		if t.Named(name) {
			c.named++
		} else {
			c.hidden = append(c.hidden, hides(t, name, said))
		}
	}
}

// dataBelow are the data of tests in a directory, by their paths from there.
func dataBelow(dir string, all mutant.Data) (d mutant.Data, err error) {
	if d.Before, err = from(dir, all.Before); err == nil {
		d.After, err = from(dir, all.After)
	}
	if err == nil {
		d.Same, err = from(dir, all.Same)
	}
	for _, files := range []map[string][]byte{d.Before, d.After, d.Same} {
		maps.DeleteFunc(files, func(file string, _ []byte) bool { return strings.HasPrefix(file, "..") })
	}
	return d, err
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

// hides tells that a test as it was before fails with the code of the patch, with both lines.
func hides(t *mutant.Touched, name, said string) string {
	was, now := t.Lines(name)
	end := "the new one passes"
	switch {
	case was == "":
		was = "without " + text.Quote(text.Short(now, maxLine))
	case now == "":
		end, was = "and it is gone or shorter", "with "+text.Quote(text.Short(was, maxLine))
	default:
		was = text.Quote(text.Short(was, maxLine)) + " made " + text.Quote(text.Short(now, maxLine))
	}
	if said = strings.TrimSpace(said); said != "" {
		said = "; " + text.Quote(text.Short(said, maxLine))
	}
	return fmt.Sprintf("a change is hidden: %s before the patch fails with its code, %s: %s%s", name, end, was, said)
}

// maxLine bounds, in characters, a line of a test in a message.
const maxLine = 80
