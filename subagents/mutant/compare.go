package mutant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// interpretedSide runs tests of one version of the files in a tree.
type interpretedSide struct {
	*Interpreted

	version Version
	tests   []Test
	limit   time.Duration
	// names has the tests that ran, by what a report calls them.
	names map[string]Test
}

// Test implements Side.
func (s *interpretedSide) Test(ctx context.Context, number int, only string) (Report, error) {
	tests := s.tests
	if only == All {
		tests = nil
	} else if only != "" {
		tests = []Test{s.names[only]}
	}
	ran, err := s.Try(ctx, s.version, number, tests, s.limit)
	return s.report(ran), err
}

// report is what a run tells. Where nothing is reported, since the code cannot be loaded, tests before the patch have noticed
// nothing, and those after it have lost nothing.
func (s *interpretedSide) report(ran Ran) Report {
	r := Report{OK: len(ran.Outcomes) > 0 || s.version == Old, Passed: map[string]bool{}, Failed: map[string]bool{}}
	for t, outcome := range ran.Outcomes {
		name := t.short()
		s.names[name] = t
		if ran.Kills(t) {
			r.OK, r.Failed[name] = false, true
		} else if outcome == Passed {
			r.Passed[name] = true
		}
	}
	return r
}

// short is the test as a report calls it, which has no directory.
func (t Test) short() string { return strings.TrimSpace(path.Base(t.File) + " " + t.Name) }

// control runs the tests without a mutant, and bounds how long they may take with one.
func (s *interpretedSide) control(ctx context.Context) (ran Ran, err error) {
	begin := time.Now()
	ran, err = s.Try(ctx, s.version, 0, s.tests, firstLimit)
	s.limit = patience*time.Since(begin) + slack
	return ran, err
}

// TouchedIn are the tests in files of a directory, in an interpreted language, that a patch touches, and those to run before and
// after it. Tests that it renames have the new name before it too. files are all of the tree, after the changed ones with tests.
func TouchedIn(ctx context.Context, e *Experiment, l Language, dir string, files []string, after map[string][]byte) (
	t *Touched, tests [2][]Test, err error,
) {
	var read [2]map[string]Source
	if read[1], err = l.Read(ctx, *e, present(after)); err == nil {
		renameTests(e.Before, after, read[1])
		read[0], err = l.Read(ctx, *e, present(e.Before))
	}
	if err != nil {
		return nil, tests, err
	}
	_, indented := l.(*Python)
	t = &Touched{was: map[string]string{}, now: map[string]string{}, indented: indented}
	for file, before := range e.Before {
		if path.Dir(file) != dir {
			delete(read[0], file)
			delete(read[1], file)
			continue
		}
		was := e.Renames.texts(file, read[0][file].Tests)
		now := Renames(nil).texts(file, read[1][file].Tests)
		maps.Copy(t.was, was)
		maps.Copy(t.now, now)
		rest := [2]string{plain(without(string(e.Renames.In(before)), was)), plain(without(string(after[file]), now))}
		t.rest[0], t.rest[1] = t.rest[0]+rest[0]+"\n", t.rest[1]+rest[1]+"\n"
		t.All = t.All || rest[0] != rest[1] && before != nil && after[file] != nil
	}
	tests = t.run(read)
	all := t.All
	if all {
		tests = [2][]Test{}
	}
	if slices.ContainsFunc(e.Data.Readers, func(file string) bool { return path.Dir(file) == dir }) {
		t.Read(e.Data)
	}
	for _, file := range files {
		if path.Dir(file) == dir && l.IsTest(file) && (all || slices.Contains(e.Data.Readers, file)) {
			tests[0], tests[1] = append(tests[0], Test{File: file}), append(tests[1], Test{File: file})
		}
	}
	return t, tests, nil
}

// run are the tests on both sides whose texts differ.
func (t *Touched) run(read [2]map[string]Source) (tests [2][]Test) {
	differ := t.Tests()
	for side, files := range read {
		for file, source := range files {
			for name := range source.Tests {
				if slices.Contains(differ, Test{file, name}.short()) {
					tests[side] = append(tests[side], Test{file, name})
				}
			}
		}
	}
	return tests
}

// texts are those of tests, by what a report calls them, with the new names.
func (r Renames) texts(file string, tests map[string]string) map[string]string {
	texts := map[string]string{}
	for name, text := range tests {
		texts[Test{file, name}.short()] = string(r.In([]byte(text)))
	}
	return texts
}

// renameTests gives tests before the patch their names after it.
func renameTests(before, after map[string][]byte, now map[string]Source) {
	names := map[string]bool{}
	for _, source := range now {
		for name := range source.Tests {
			names[name[strings.LastIndex(name, ".")+1:]] = true
		}
	}
	renames := RenamesOf(before, after)
	maps.DeleteFunc(renames, func(was, now string) bool { return names[was] || !names[now] })
	for file, text := range before {
		if text != nil {
			before[file] = renames.In(text)
		}
	}
}

// without is a source without the texts of its tests.
func without(source string, tests map[string]string) string {
	for _, text := range tests {
		source = strings.Replace(source, text, "", 1)
	}
	return source
}

// present are the files that are there.
func present(files map[string][]byte) map[string][]byte {
	there := maps.Clone(files)
	maps.DeleteFunc(there, func(_ string, text []byte) bool { return text == nil })
	return there
}

// plain is source without blanks, and without lines that import.
func plain(source string) string {
	var lines []string
	for line := range strings.Lines(source) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && word != "import" && word != "from" {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, "\n")
}

// Compare compares tests before and after a patch, until a time: both with the code after it where those before pass with that or
// fail in an assertion, else each with its own. red are the tests that the code after it fails, and that pass or are gone as the
// patch leaves them, with what they print; those of them that the brief asks for are compared too, each with its own code.
func (p *Interpreted) Compare(ctx context.Context, t *Touched, tests [2][]Test, until time.Time) (
	c Comparison, red map[string]string, err error,
) {
	after := &interpretedSide{Interpreted: p, version: New, tests: tests[1], names: map[string]Test{}}
	before := &interpretedSide{Interpreted: p, version: Old, tests: tests[0], names: map[string]Test{}}
	now, err := after.control(ctx)
	if whole := filesOf(tests[1]); err == nil && !after.report(now).OK && !slices.Equal(whole, tests[1]) {
		after.tests, before.tests = whole, filesOf(tests[0]) // they may need others of their files
		now, err = after.control(ctx)
	}
	if err != nil {
		return c, nil, err
	}
	has := after.report(now)
	if !has.OK {
		return c, nil, fmt.Errorf("the tests fail without a change of the code: %w: %s", ErrRefused, lastLine(now.Said))
	}
	was, red, err := before.settle(ctx, has)
	if err != nil {
		return c, nil, err
	}
	if len(red) == 0 || was.passed() != nil {
		if c, err = before.with(ctx, after, was, has, t, nil, until); err != nil {
			return c, nil, err
		}
	}
	var asked []string
	for name := range red {
		if has.Passed[name] && t.Named(name) {
			asked = append(asked, name)
		}
	}
	if len(asked) == 0 || before.Interpreted != p || len(p.Base) == 0 {
		return c, red, nil
	}
	more, err := after.asked(ctx, t, asked, has, until)
	if c.add(more); errors.Is(err, ErrRefused) {
		err = nil // they tell nothing before the patch
	}
	return c, red, err
}

// asked compares tests with other expectations than before, which the brief asks for, each with the code of its side.
func (s *interpretedSide) asked(ctx context.Context, t *Touched, names []string, has Report, until time.Time) (
	c Comparison, err error,
) {
	after, before := *s, *s
	after.tests, before.version, before.names = nil, Old, map[string]Test{}
	for _, name := range names {
		after.tests = append(after.tests, s.names[name])
	}
	before.tests = after.tests
	if after.Interpreted, err = s.over(ctx, nil); err != nil {
		return c, err
	}
	if before.Interpreted, err = s.over(ctx, s.Base); err != nil {
		return c, err
	}
	was, err := before.control(ctx)
	if err != nil {
		return c, err
	}
	c, err = before.with(ctx, &after, was, has, t, names, until)
	if err == nil && len(c.Idle) > 0 {
		var pinned Report
		old := before
		old.version = New
		pinned, err = old.Test(ctx, 0, "")
		c.pin(pinned)
	}
	return c, err
}

// with compares the tests of the side that passed in a run with those after the patch, or some that are asked to be otherwise.
func (s *interpretedSide) with(
	ctx context.Context, after *interpretedSide, was Ran, has Report, t *Touched, asked []string, until time.Time,
) (c Comparison, err error) {
	if s.tests = was.passed(); len(s.tests) == 0 {
		return c, fmt.Errorf("no test passed before the patch: %w: %s", ErrRefused, lastLine(was.Said))
	}
	var reached []int
	for _, t := range s.tests {
		reached = append(reached, was.reachedBy(t)...)
	}
	all := slices.DeleteFunc(pairsOf(s.mutants, after.mutants), func(p Pair) bool {
		return !slices.Contains(reached, p.Before.Number) || p.After.Kind == Default // a test may give what was the default
	})
	partial := len(all) > maxTried
	all = t.likeliest(all, maxTried)
	var kept []int
	for _, pair := range all {
		kept = append(kept, pair.Before.Number, pair.After.Number)
	}
	after.Keep(kept)
	s.Keep(kept)
	had, err := s.Test(ctx, 0, "")
	if err == nil && !had.OK {
		err = fmt.Errorf("the tests before the patch do not pass each time: %w", ErrRefused)
	}
	if err != nil {
		return c, err
	}
	of := trial{s, after, had, has, asked, len(asked) > 0}
	if !of.asked {
		of.touched = t.Tests()
	}
	if s.Interpreted == after.Interpreted {
		all = of.withData(t.alterations(s.Data), [2]*Experiment{&s.Experiment, &after.Experiment}, all)
	}
	c, err = of.compare(ctx, all, until)
	c.Partial = partial
	return c, err
}

// passed are the tests that passed.
func (r Ran) passed() (tests []Test) {
	for t, outcome := range r.Outcomes {
		if outcome == Passed {
			tests = append(tests, t)
		}
	}
	return tests
}

// settle finds the code and the names with which the tests before the patch run, and which of them the code after it fails.
func (s *interpretedSide) settle(ctx context.Context, has Report) (was Ran, red map[string]string, err error) {
	plain := s.Before
	tries := []Renames{s.Renames, nil}
	if len(s.Renames) == 0 {
		tries = tries[1:]
	}
	for _, r := range tries {
		s.Before = map[string][]byte{}
		for file, text := range plain {
			if s.Before[file] = text; text != nil {
				s.Before[file] = r.In(text)
			}
		}
		if was, err = s.control(ctx); err != nil || was.asserts() {
			break
		}
	}
	if err == nil {
		red, err = s.hidden(ctx, was, has)
	}
	if err == nil && len(s.Base) > 0 && !was.asserts() {
		if s.Interpreted, err = s.over(ctx, s.Base); err == nil {
			was, err = s.control(ctx)
		}
	}
	return was, red, err
}

// asserts reports whether tests ran, and failed in assertions at most: else the names that they use are gone.
func (r Ran) asserts() bool {
	for _, outcome := range r.Outcomes {
		if outcome == Errored || outcome == Broken {
			return false
		}
	}
	return len(r.Outcomes) > 0
}

// hidden are tests that fail in an assertion, and pass or are gone as the patch leaves them, with what they print.
func (s *interpretedSide) hidden(ctx context.Context, was Ran, has Report) (map[string]string, error) {
	red := map[string]string{}
	for t, outcome := range was.Outcomes {
		if outcome != Failed || has.Failed[t.short()] || len(red) == maxWeaker {
			continue
		}
		one, err := s.Try(ctx, s.version, 0, []Test{t}, s.limit)
		if err != nil {
			return nil, err
		}
		red[t.short()] = failure(one.Said)
	}
	return red, nil
}

// failure is the line of an output that tells why a test failed; the last one where none does.
func failure(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "E  ") || strings.Contains(line, "Error: ") {
			return strings.TrimSpace(strings.TrimPrefix(line, "E "))
		}
	}
	return lastLine(out)
}
