package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
)

// Place is where the commands of an experiment run: the directory of the package and an empty one for files, on this machine and
// as the commands see them.
type Place struct{ Dir, Temp, SeenDir, SeenTemp string }

// Runner runs a command in the directory of the package, with more variables, for a limited time. ok reports whether it ended
// well; an error is none of the command's.
type Runner func(ctx context.Context, env, args []string, limit time.Duration) (output []byte, ok bool, err error)

// Experiment is what mutants are tried with.
type Experiment struct {
	Place Place
	Run   Runner
	// Flags are those of go that decide what is compiled, such as -tags.
	Flags []string
	// Before has, by its name, each test file of the package that the patch changes, as it was: nil for one that was not there.
	Before map[string][]byte
	// Base has, by its path from the package, each other Go file that the patch changes, as it was: nil for one that was not
	// there.
	Base map[string][]byte
	// Data are those of its tests, altered other texts of them for a while.
	Data    Data
	altered map[string][]byte
	// Renames are those of the patch.
	Renames Renames
	// Restore takes back what tests have changed of the tree.
	Restore func(context.Context) error
	// Fold is what the tests after the patch ignore of texts, and those before do not.
	Fold Fold
	// Wanted reports whether a mutant, which has no number yet, is one.
	Wanted func(Mutant) bool
	// Number returns a number above 0 that no test can guess: those of mutants begin at one, and others choose none.
	Number func() int
}

// GoPackage are the test programs of a Go package with mutants, compiled once: with the new tests, and with those before. It is
// used by one goroutine.
type GoPackage struct {
	Experiment

	// Mutants are those that compile, in the order of their numbers.
	Mutants []Mutant
	// had reports whether there were tests before.
	had bool
	// times is how often the newest run without a mutant reached each, about.
	times map[int]int
}

// ErrRefused is the class of errors about the code and its tests, and not about the machine.
var ErrRefused = errors.New("refused")

// maxCompiles bounds how often a package is compiled: each time without the mutants that the compiler refused.
const maxCompiles = 4

// maxSource bounds, in bytes, a source file with mutants.
const maxSource = 4 << 20

// Compile compiles the tests of a package with its mutants.
func Compile(ctx context.Context, e Experiment) (*GoPackage, error) {
	p := &GoPackage{Experiment: e}
	mutated, err := p.prepare(ctx, newTests, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(mutated, p.Before)
	said, ok, err := p.compile(ctx, oldTests, mutated)
	if err == nil && !ok {
		err = fmt.Errorf("compile the tests before the patch with mutants: %w: %s", ErrRefused, firstLine(said))
	}
	if err == nil {
		p.had, err = p.made(oldTests)
	}
	if err != nil {
		return nil, err
	}
	return p, p.clean()
}

// prepare compiles a test program of the package in which some files have other texts, with the mutants that compile. It returns
// the files with mutants.
func (p *GoPackage) prepare(ctx context.Context, program string, others map[string][]byte) (map[string][]byte, error) {
	files, err := p.sources(ctx, others)
	if err != nil {
		return nil, err
	}
	refused, first := map[Mutant]bool{}, p.Number()
	for range maxCompiles {
		mutated, mutants, err := Go(files, first, p.Fold, func(m Mutant) bool { return !refused[m] && p.Wanted(m) })
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		p.Mutants = mutants
		with := maps.Clone(mutated)
		for name, data := range others {
			if with[name] == nil {
				with[name] = data
			}
		}
		said, ok, err := p.compile(ctx, program, with)
		if err != nil || ok {
			return mutated, err
		}
		before := len(refused)
		for _, m := range blamed(mutants, said) {
			m.Number, m.from, m.to = 0, 0, 0
			refused[m] = true
		}
		if len(refused) == before {
			return nil, fmt.Errorf("compile tests with mutants: %w: %s", ErrRefused, firstLine(said))
		}
	}
	return nil, fmt.Errorf("compile tests with mutants: %w: %d times", ErrRefused, maxCompiles)
}

// made reports whether a program was compiled: a package without tests has none.
func (p *GoPackage) made(program string) (bool, error) {
	_, err := os.Lstat(filepath.Join(p.Place.Temp, program))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for compiled tests: %w", err)
	}
	return true, nil
}

// clean removes what would show a test the numbers of mutants.
func (p *GoPackage) clean() error {
	files, err := os.ReadDir(p.Place.Temp)
	for _, f := range files {
		if err == nil && strings.HasPrefix(f.Name(), prefix) {
			err = os.RemoveAll(filepath.Join(p.Place.Temp, f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("remove mutants: %w", err)
	}
	return nil
}

// sources are the Go files of the package that are compiled here, by their names, where some have other texts.
func (p *GoPackage) sources(ctx context.Context, others map[string][]byte) (map[string][]byte, error) {
	if err := p.overlay(others); err != nil {
		return nil, err
	}
	list := slices.Concat([]string{"go", "list", "-e", "-json=GoFiles", "-overlay", filepath.Join(p.Place.SeenTemp, overlay)},
		p.Flags, []string{"."})
	out, ok, err := p.Run(ctx, nil, list, firstLimit)
	if err != nil {
		return nil, err
	}
	var listed struct {
		GoFiles []string `json:"GoFiles"`
	}
	if !ok || json.Unmarshal(out, &listed) != nil {
		return nil, fmt.Errorf("list the files of the package: %w: %s", ErrRefused, firstLine(out))
	}
	dir, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the package: %w", err)
	}
	defer dir.Close() // it is read only
	files := map[string][]byte{}
	for _, name := range listed.GoFiles {
		if data := others[name]; data != nil {
			files[name] = data
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
			continue // what is generated elsewhere, or a link, stays as it is
		}
		if files[name], err = dir.ReadFile(name); err != nil {
			return nil, fmt.Errorf("read %s for mutants: %w", name, err)
		}
	}
	return files, nil
}

// overlay is the file with the names of the files that have other texts.
const overlay = "overlay.json"

// overlay writes files with other texts, by their paths from the package; nil is the text of a file that is not there.
func (p *GoPackage) overlay(files map[string][]byte) error {
	replace := map[string]string{}
	for name, data := range files {
		at, as := filepath.Join(p.Place.SeenDir, name), prefix+strings.ReplaceAll(name, "/", "%")
		if replace[at] = ""; data == nil {
			continue
		}
		replace[at] = filepath.Join(p.Place.SeenTemp, as)
		if err := os.WriteFile(filepath.Join(p.Place.Temp, as), data, 0o600); err != nil {
			return fmt.Errorf("write mutants: %w", err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Place.Temp, overlay), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write which files have mutants: %w", err)
	}
	return nil
}

// compile compiles a test program in which some files have other texts.
func (p *GoPackage) compile(ctx context.Context, program string, files map[string][]byte) (said []byte, ok bool, err error) {
	if err := p.overlay(files); err != nil {
		return nil, false, err
	}
	return p.Run(ctx, nil, slices.Concat([]string{
		"go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", filepath.Join(p.Place.SeenTemp, overlay),
		"-o", filepath.Join(p.Place.SeenTemp, program),
	}, p.Flags, []string{"."}), firstLimit)
}

// newTests and oldTests are the test programs with the patch and before it, baseTests that before it with the product before
// it, and pinTests that with the patch and the product before it.
const newTests, oldTests, baseTests, pinTests = "new", "old", "base", "pin"

// prefix begins the name of a file with mutants.
const prefix = "mutated-"

var complaint = lazyregexp.New(`(?m)^(\S+\.go):(\d+):\d+: `)

// blamed are the mutants on lines that the compiler complains of.
func blamed(mutants []Mutant, said []byte) (list []Mutant) {
	for _, c := range complaint.FindAllStringSubmatch(string(said), -1) {
		name := strings.TrimPrefix(path.Base(c[1]), prefix)
		line, err := strconv.Atoi(c[2])
		for _, m := range mutants {
			if err == nil && m.At(name, line) {
				list = append(list, m)
			}
		}
	}
	return list
}

// control runs tests without a mutant, in all else as with one, and returns the numbers of the mutants that they reach. ok
// reports whether they pass.
func (p *GoPackage) control(ctx context.Context, program string, flags []string, limit time.Duration) (
	reached []int, out []byte, ok bool, err error,
) {
	seen := filepath.Join(p.Place.Temp, SeenFile)
	if err := os.RemoveAll(seen); err != nil {
		return nil, nil, false, fmt.Errorf("remove which mutants were reached: %w", err)
	}
	out, ok, err = p.test(ctx, program, p.none(), flags, limit)
	if err != nil {
		return nil, nil, false, err
	}
	data, err := p.Place.Told(SeenFile)
	if err != nil {
		return nil, nil, false, err
	}
	p.times = map[int]int{}
	for line := range strings.Lines(string(data)) {
		var number, times int
		if n, err := fmt.Sscan(line, &number, &times); err == nil && n == 2 && p.mutant(number) != nil {
			p.times[number] = max(p.times[number], times)
		}
	}
	return slices.Sorted(maps.Keys(p.times)), out, ok, nil
}

// mutant is the one of a number; nil for none.
func (p *GoPackage) mutant(number int) *Mutant {
	if len(p.Mutants) == 0 || number < p.Mutants[0].Number || number > p.Mutants[len(p.Mutants)-1].Number {
		return nil
	}
	return &p.Mutants[number-p.Mutants[0].Number]
}

// none is a number of no mutant.
func (p *GoPackage) none() int {
	for {
		if n := p.Number(); p.mutant(n) == nil {
			return n
		}
	}
}

// All implements Suite.
func (p *GoPackage) All() []Mutant { return p.Mutants }

// Try implements Suite. A test that is asked for is broken where the program does not end well and tells nothing of it.
func (p *GoPackage) Try(ctx context.Context, v Version, number int, tests []Test, limit time.Duration) (ran Ran, err error) {
	if v == Old && !p.had {
		return ran, nil
	}
	flags := []string{"-test.v"}
	if len(tests) > 0 {
		flags = append(flags, only(tests))
	}
	var ok bool
	if number == 0 {
		ran.Reached = map[Test][]int{}
		ran.Reached[Test{}], ran.Said, ok, err = p.control(ctx, string(v), flags, limit)
	} else {
		ran.Said, ok, err = p.test(ctx, string(v), number, flags, limit)
	}
	told := report(string(ran.Said), ok)
	ran.Outcomes = map[Test]Outcome{}
	for outcome, names := range map[Outcome]map[string]bool{Passed: told.Passed, Failed: told.Failed, Skipped: told.Skipped} {
		for name := range names {
			ran.Outcomes[Test{Name: name}] = outcome
		}
	}
	for _, t := range tests {
		if !ok && ran.Outcomes[t] == "" {
			ran.Outcomes[t] = Broken
		}
	}
	return ran, err
}

// only is the flag of tests that run alone.
func only(tests []Test) string {
	var names []string
	for _, t := range tests {
		names = append(names, t.Name)
	}
	return "-test.run=^(" + strings.Join(names, "|") + ")$"
}

func (p *GoPackage) test(ctx context.Context, program string, number int, flags []string, limit time.Duration) (
	out []byte, ok bool, err error,
) {
	laid := newTree(p.Place.Dir)
	if program != newTests {
		err = p.Data.lay(laid)
	}
	if err == nil {
		err = Data{Before: p.altered}.lay(laid)
	}
	if err != nil {
		return nil, false, err
	}
	env := []string{fmt.Sprintf("%s=%d", Var, number), SeenVar + "=" + filepath.Join(p.Place.SeenTemp, SeenFile)}
	args := append([]string{filepath.Join(p.Place.SeenTemp, program), "-test.count=1"}, flags...)
	out, ok, err = p.Run(ctx, env, args, limit)
	if err == nil && p.Restore != nil {
		err = p.Restore(ctx)
	}
	return out, ok, err
}

// SeenFile is where a program tells the mutants that it reaches.
const SeenFile = "seen"

// maxNamed is how many tests a message names.
const maxNamed = 3

func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
