package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
	files, err := p.sources(ctx)
	if err != nil {
		return nil, err
	}
	refused, first := map[Mutant]bool{}, e.Number()
	for range maxCompiles {
		mutated, mutants, err := Go(files, first, func(m Mutant) bool { return !refused[m] && e.Wanted(m) })
		if err != nil {
			return nil, err
		}
		p.Mutants = mutants
		said, ok, err := p.compile(ctx, newTests, mutated)
		if err != nil {
			return nil, err
		}
		if ok {
			return p, p.compileBefore(ctx, mutated)
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

// compileBefore compiles the tests that were there before, and removes what would show a test the numbers of mutants.
func (p *GoPackage) compileBefore(ctx context.Context, mutated map[string][]byte) error {
	with := maps.Clone(mutated)
	for name, data := range p.Before {
		with[name] = data
	}
	said, ok, err := p.compile(ctx, oldTests, with)
	if err == nil && !ok {
		err = fmt.Errorf("compile the tests before the patch with mutants: %w: %s", ErrRefused, firstLine(said))
	}
	if err != nil {
		return err
	}
	if _, err = os.Lstat(filepath.Join(p.Place.Temp, oldTests)); err == nil {
		p.had = true
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for the tests before the patch: %w", err)
	}
	for name := range with {
		if err := os.RemoveAll(filepath.Join(p.Place.Temp, prefix+name)); err != nil {
			return fmt.Errorf("remove mutants: %w", err)
		}
	}
	return nil
}

// sources are the Go files of the package that are compiled here, by their names.
func (p *GoPackage) sources(ctx context.Context) (map[string][]byte, error) {
	list := slices.Concat([]string{"go", "list", "-e", "-json=GoFiles"}, p.Flags, []string{"."})
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

// compile compiles a test program in which some files have other texts; nil is that of a file that is not there.
func (p *GoPackage) compile(ctx context.Context, program string, files map[string][]byte) (said []byte, ok bool, err error) {
	replace := map[string]string{}
	for name, data := range files {
		at := filepath.Join(p.Place.SeenDir, name)
		if replace[at] = ""; data == nil {
			continue
		}
		replace[at] = filepath.Join(p.Place.SeenTemp, prefix+name)
		if err := os.WriteFile(filepath.Join(p.Place.Temp, prefix+name), data, 0o600); err != nil {
			return nil, false, fmt.Errorf("write mutants: %w", err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, false, err
	}
	if err := os.WriteFile(filepath.Join(p.Place.Temp, "overlay.json"), data, 0o600); err != nil {
		return nil, false, fmt.Errorf("write mutants: %w", err)
	}
	return p.Run(ctx, nil, slices.Concat([]string{
		"go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", filepath.Join(p.Place.SeenTemp, "overlay.json"),
		"-o", filepath.Join(p.Place.SeenTemp, program),
	}, p.Flags, []string{"."}), firstLimit)
}

// newTests and oldTests are the test programs with the patch and before it.
const newTests, oldTests = "new", "old"

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
	seen := filepath.Join(p.Place.Temp, seenFile)
	if err := os.RemoveAll(seen); err != nil {
		return nil, nil, false, fmt.Errorf("remove which mutants were reached: %w", err)
	}
	out, ok, err = p.test(ctx, program, p.none(), flags, limit)
	if err != nil {
		return nil, nil, false, err
	}
	dir, err := os.OpenRoot(p.Place.Temp)
	if err != nil {
		return nil, nil, false, fmt.Errorf("read which mutants are reached: %w", err)
	}
	defer dir.Close() // it is read only
	data, err := dir.ReadFile(seenFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, false, fmt.Errorf("read which mutants are reached: %w", err)
	}
	for _, f := range strings.Fields(string(data)) {
		if n, err := strconv.Atoi(f); err == nil && p.mutant(n) != nil {
			reached = append(reached, n)
		}
	}
	slices.Sort(reached)
	return slices.Compact(reached), out, ok, nil
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

// kills reports whether tests fail, hang or do not end well with a mutant.
func (p *GoPackage) kills(ctx context.Context, program string, number int, flags []string, limit time.Duration) (bool, error) {
	_, ok, err := p.test(ctx, program, number, flags, limit)
	return !ok, err
}

func (p *GoPackage) test(ctx context.Context, program string, number int, flags []string, limit time.Duration) (
	out []byte, ok bool, err error,
) {
	return p.Run(ctx, []string{fmt.Sprintf("%s=%d", Var, number), SeenVar + "=" + filepath.Join(p.Place.SeenTemp, seenFile)},
		append([]string{filepath.Join(p.Place.SeenTemp, program), "-test.count=1"}, flags...), limit)
}

// seenFile is where a program tells the mutants that it reaches.
const seenFile = "seen"

// maxNamed is how many tests a message names.
const maxNamed = 3

// GoTests are the tests of a Go file whose text differs from that in another version of it; all where that has none of the name.
func GoTests(file string, now, before []byte) ([]string, error) {
	texts, err := testTexts(file, before)
	if err != nil {
		texts = nil // what could not be read before is new
	}
	changed, err := testTexts(file, now)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, text := range changed {
		if texts[name] != text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func testTexts(file string, source []byte) (map[string]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the tests of %s: %w", file, err)
	}
	texts := map[string]string{}
	for _, d := range parsed.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if ok && fun.Recv == nil && testName.MatchString(fun.Name.Name) && fun.Name.Name != "TestMain" {
			from, to := set.PositionFor(fun.Pos(), false), set.PositionFor(fun.End(), false)
			texts[fun.Name.Name] = string(source[from.Offset:to.Offset])
		}
	}
	return texts, nil
}

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
