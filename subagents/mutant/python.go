package mutant

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

//go:embed python_read.py
var pythonRead string

//go:embed python_run.py
var pythonRun []byte

// pythonChoose defines the function that chooses a mutant.
//
//go:embed python_choose.py
var pythonChoose string

// Python is the language with its runner of tests.
type Python struct {
	// before and after are the words of the gate's command around runner, which is pytest or unittest, and a program where it is
	// no module of one.
	before, after   []string
	runner, program string
}

const pytest, unittest = "pytest", "unittest"

// NewPython is Python with the runner that the first of some commands calls, behind what a script of a shell does before; pytest
// where none does, with an environment in the tree before others.
func NewPython(commands [][]string) *Python {
	for _, c := range commands {
		if len(c) > 2 && strings.HasPrefix(c[1], "-") && strings.HasSuffix(c[1], "c") &&
			strings.HasSuffix(path.Base(c[0]), "sh") {
			c = unshelled(c)
		}
		for i, word := range c {
			module := i > 0 && c[i-1] == "-m"
			switch name := path.Base(word); {
			case module && (name == pytest || name == unittest):
				return &Python{before: c[:i-1], after: c[i+1:], runner: name}
			case name == pytest || name == "py.test":
				return &Python{before: c[:i], after: c[i+1:], runner: pytest, program: word}
			}
		}
	}
	const find = `PATH="$PWD/.venv/bin:$PWD/venv/bin:$PATH" && export PATH && `
	return &Python{before: behind("sh", find, "python3"), runner: pytest}
}

// behind is a command that runs behind a script.
func behind(shell, script string, command ...string) []string {
	return append([]string{shell, "-c", script + `exec env "$@"`, shell}, command...)
}

// unshelled is a command of a shell whose last words are those of the runner, in the tree itself.
func unshelled(c []string) []string {
	script, from := c[2], 0
	at := runs.FindStringIndex(script)
	if at == nil || moves.MatchString(script) {
		return c
	}
	for _, end := range ends.FindAllStringIndex(script[:at[0]], -1) {
		from = end[1]
	}
	rest, _, _ := strings.Cut(script[from:], "&&")
	rest, _, _ = strings.Cut(rest, ";")
	return behind(c[0], script[:from], Words(rest)...)
}

var (
	// runs is a call of a runner in a script, ends what stands between two commands, moves a change of the directory.
	runs  = lazyregexp.New(`(?:^|[\s/])(?:pytest|py\.test)(?:\s|$)|-m unittest\b`)
	ends  = lazyregexp.New(`&&\s*|[;\n]\s*`)
	moves = lazyregexp.New(`\b(?:cd|pushd)\s`)
)

// python is the command that starts the interpreter of the runner.
func (l *Python) python() []string {
	if i := slices.IndexFunc(l.before, interpreter.MatchString); i >= 0 && l.program == "" {
		return l.before[:i+1]
	}
	before := l.before
	if l.program == "" {
		before = before[:max(0, len(before)-2)] // such as "coverage run"
	}
	return append(slices.Clone(before), path.Join(path.Dir(l.program), "python3"))
}

var interpreter = lazyregexp.New(`(?:^|/)(?:python|pypy)[0-9.]*$`)

// pythonTest are names of files of tests, and what they share.
var pythonTest = lazyregexp.New(`(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)(?:tests?|testing)/(?:.*/)?[^/]*\.py$`)

// noProduct are files that tests of the product do not run.
var noProduct = lazyregexp.New(`(?:^|/)(?:\.[^/]*|docs?|examples?|_?vendor(?:ed)?|third_party|node_modules)/|` +
	`(?:^|/)(?:setup|noxfile|__main__|_version)\.py$|_pb2(?:_grpc)?\.py$`)

// IsTest reports whether a file has tests.
func (l *Python) IsTest(file string) bool { return pythonTest.MatchString(file) }

// Products are all files of Python but those of tests, documentation and other projects.
func (l *Python) Products(files, _ []string) (products []string) {
	for _, file := range files {
		if strings.HasSuffix(file, ".py") && !l.IsTest(file) && !noProduct.MatchString(file) {
			products = append(products, file)
		}
	}
	return products
}

// pythonSource is what the script tells of a file; Before and After stand around a statement at Head.
type pythonSource struct {
	Source
	Before, After string
}

// Read reads Python with the interpreter of its tests.
func (l *Python) Read(ctx context.Context, e Experiment, sources map[string][]byte) (map[string]Source, error) {
	texts := map[string]string{}
	for file, data := range sources {
		texts[file] = string(data)
	}
	data, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(e.Place.Temp, "sources"), data, 0o600); err != nil {
		return nil, fmt.Errorf("write sources: %w", err)
	}
	args := slices.Concat(l.python(), []string{
		"-c", pythonRead, filepath.Join(e.Place.SeenTemp, "sources"), filepath.Join(e.Place.SeenTemp, "read"),
	})
	out, ok, err := e.Run(ctx, nil, args, firstLimit)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("read the files of Python: %w: %s", ErrRefused, lastLine(out))
	}
	if data, err = e.Place.Told("read"); err != nil {
		return nil, err
	}
	var answer map[string]pythonSource
	if err := json.Unmarshal(data, &answer); err != nil { //nolint:musttag // the script has the names of the fields
		return nil, fmt.Errorf("read what the files of Python hold: %w", err)
	}
	read := map[string]Source{}
	for file, s := range answer {
		s.Lead = s.Before + "exec(" + strconv.QuoteToASCII(pythonChoose) + ", {})" + s.After
		read[file] = s.Source
	}
	return read, nil
}

// Text is the same for all mutants, which a variable chooses: a test that reads it sees no difference.
func (l *Python) Text(source []byte, of Source, _ int) []byte {
	first, edits := -len(source)-1, []edit{}
	edits = append(edits, edit{at: of.Head, text: of.Lead, order: first})
	for _, c := range of.Changes {
		if c.Alt == "" { // a statement
			edits = append(edits, edit{at: c.From, text: fmt.Sprintf("if not __divisi__(%d): ", c.Number), order: first})
			continue
		}
		// What ends at a byte stands before what begins there, the longest first.
		edits = append(edits,
			edit{at: c.From, text: fmt.Sprintf("((%s) if __divisi__(%d) else (", c.Alt, c.Number), order: c.From - c.To},
			edit{at: c.To, text: "))", order: first})
	}
	return splices(source, edits)
}

// splices is a source with texts in it.
func splices(source []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.Write(source[last:e.at])
		b.WriteString(e.text)
		last = e.at
	}
	b.Write(source[last:])
	return b.Bytes()
}

// runDir holds, below the directory for files, what tells of the tests; runName is the module that does.
const runDir, runName = "python", "divisi_run"

// valued are options of pytest whose value is the next word.
var valued = strings.Fields("k m c p o W n r rootdir confcutdir basetemp ignore ignore-glob deselect cov cov-report cov-config " +
	"junitxml junit-xml tb durations import-mode log-level log-cli-level capture timeout dist override-ini numprocesses")

// failFast are options that end a run with its first failure.
var failFast = strings.Fields("-x -f --exitfirst --failfast")

// Command is that of the gate with a plugin, or a program in place of unittest, that tells of each test.
func (l *Python) Command(p Place, tests []Test) (env, args []string, err error) {
	list := [][2]string{}
	var files []string
	for _, t := range tests {
		list, files = append(list, [2]string{t.File, t.Name}), append(files, t.File)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(p.Temp, runDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make a directory for tests: %w", err)
	}
	for name, data := range map[string][]byte{
		runName + ".py": pythonRun, "choose.py": []byte(pythonChoose), "tests.json": data, outcomes: nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, nil, fmt.Errorf("write what tells of tests: %w", err)
		}
	}
	seen := filepath.Join(p.SeenTemp, runDir)
	for _, word := range l.before {
		if own, ok := strings.CutPrefix(word, pathVar); ok {
			word = pathVar + seen + ":" + own
		}
		args = append(args, word)
	}
	env = []string{pathVar + seen, "PYTHONPYCACHEPREFIX=" + filepath.Join(p.SeenTemp, "pycache")}
	after := slices.DeleteFunc(slices.Clone(l.after), func(word string) bool { return slices.Contains(failFast, word) })
	if l.runner == unittest {
		return env, slices.Concat(args, []string{"-m", runName}, after), nil
	}
	if l.program == "" {
		args = append(args, "-m")
	}
	if len(tests) > 0 {
		after = options(after)
	}
	slices.Sort(files)
	return env, slices.Concat(args, []string{cmp.Or(l.program, pytest), "-p", runName}, after, []string{
		"--maxfail=0", "--continue-on-collection-errors", "-o", "cache_dir=" + filepath.Join(p.SeenTemp, "cache"),
	}, slices.Compact(files)), nil
}

const pathVar, outcomes = "PYTHONPATH=", "outcomes"

// options are the words of pytest without those of files and directories.
func options(words []string) (kept []string) {
	for i, word := range words {
		if strings.HasPrefix(word, "-") || i > 0 && slices.Contains(valued, strings.TrimLeft(words[i-1], "-")) {
			kept = append(kept, word)
		}
	}
	return kept
}

// worst are the outcomes of one test with several parameters, in the order in which the first counts.
var worst = []Outcome{Failed, Errored, Passed, Skipped}

// Outcomes reads lines of an outcome, a file and a name. A test has "broken" until it ends.
func (l *Python) Outcomes(p Place, _ []byte, _ bool) (map[Test]Outcome, error) {
	data, err := p.Told(filepath.Join(runDir, outcomes))
	ran, open := map[Test]Outcome{}, map[Test]bool{}
	for line := range strings.Lines(string(data)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 3 {
			continue
		}
		test, got := Test{part[1], part[2]}, Outcome(part[0])
		open[test] = got == Broken
		if !open[test] && (ran[test] == "" || slices.Index(worst, got) < slices.Index(worst, ran[test])) {
			ran[test] = got
		}
	}
	for test, is := range open {
		if is {
			ran[test] = Broken
		}
	}
	return ran, err
}
