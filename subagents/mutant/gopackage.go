package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// Place is where the commands of an experiment run: the directory of the package and an empty one for files, on this machine and
// as the commands see them.
type Place struct{ Dir, Temp, SeenDir, SeenTemp string }

// Runner runs a command in the directory of the package, with more variables, for a limited time. ok reports whether it ended
// well; an error is none of the command's.
type Runner func(ctx context.Context, env, args []string, limit time.Duration) (output []byte, ok bool, err error)

// GoPackage is the test program of a Go package with mutants, compiled once. It is used by one goroutine.
type GoPackage struct {
	// Mutants are those that compile.
	Mutants []Mutant
	place   Place
	run     Runner
}

// ErrRefused is the class of errors about the code and its tests, and not about the machine.
var ErrRefused = errors.New("refused")

// maxCompiles bounds how often a package is compiled: each time without the mutants that the compiler refused.
const maxCompiles = 4

// maxSource bounds, in bytes, a source file with mutants.
const maxSource = 4 << 20

// Compile compiles the tests of a package with the mutants that are wanted.
func Compile(ctx context.Context, place Place, run Runner, wanted func(Mutant) bool) (*GoPackage, error) {
	p := &GoPackage{place: place, run: run}
	files, err := p.sources(ctx)
	if err != nil {
		return nil, err
	}
	refused := map[Mutant]bool{}
	for range maxCompiles {
		mutated, mutants, err := Go(files, 1, func(m Mutant) bool { return !refused[m] && wanted(m) })
		if err != nil {
			return nil, err
		}
		p.Mutants = mutants
		said, ok, err := p.compile(ctx, mutated)
		if ok || err != nil {
			return p, err
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

// sources are the Go files of the package that are compiled here, by their names.
func (p *GoPackage) sources(ctx context.Context) (map[string][]byte, error) {
	out, ok, err := p.run(ctx, nil, []string{"go", "list", "-e", "-json=GoFiles", "."}, firstLimit)
	if err != nil {
		return nil, err
	}
	var listed struct {
		GoFiles []string `json:"GoFiles"`
	}
	if !ok || json.Unmarshal(out, &listed) != nil {
		return nil, fmt.Errorf("list the files of the package: %w: %s", ErrRefused, firstLine(out))
	}
	dir, err := os.OpenRoot(p.place.Dir)
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

func (p *GoPackage) compile(ctx context.Context, mutated map[string][]byte) (said []byte, ok bool, err error) {
	replace := map[string]string{}
	for name, data := range mutated {
		other := prefix + name
		if err := os.WriteFile(filepath.Join(p.place.Temp, other), data, 0o600); err != nil {
			return nil, false, fmt.Errorf("write mutants: %w", err)
		}
		replace[filepath.Join(p.place.SeenDir, name)] = filepath.Join(p.place.SeenTemp, other)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, false, err
	}
	if err := os.WriteFile(filepath.Join(p.place.Temp, "overlay.json"), data, 0o600); err != nil {
		return nil, false, fmt.Errorf("write mutants: %w", err)
	}
	return p.run(ctx, nil, []string{
		"go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", filepath.Join(p.place.SeenTemp, "overlay.json"),
		"-o", p.program(), ".",
	}, firstLimit)
}

// program is the test program as commands see it.
func (p *GoPackage) program() string { return filepath.Join(p.place.SeenTemp, "tests") }

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

// reached are the numbers of the mutants that tests reach, which pass without one.
func (p *GoPackage) reached(ctx context.Context, tests []string) (numbers []int, err error) {
	seen := "seen"
	if err := os.RemoveAll(filepath.Join(p.place.Temp, seen)); err != nil {
		return nil, fmt.Errorf("remove which mutants were reached: %w", err)
	}
	out, ok, err := p.test(ctx, SeenVar+"="+filepath.Join(p.place.SeenTemp, seen), tests, firstLimit)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("run %s without a mutant: %w: %s", text.Some(tests, maxNamed), ErrRefused, lastLine(out))
	}
	dir, err := os.OpenRoot(p.place.Temp)
	if err != nil {
		return nil, fmt.Errorf("read which mutants are reached: %w", err)
	}
	defer dir.Close() // it is read only
	data, err := dir.ReadFile(seen)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read which mutants are reached: %w", err)
	}
	for _, f := range strings.Fields(string(data)) {
		if n, err := strconv.Atoi(f); err == nil && n > 0 && n <= len(p.Mutants) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// kills reports whether tests fail, hang or do not end well with a mutant.
func (p *GoPackage) kills(ctx context.Context, number int, tests []string, limit time.Duration) (bool, error) {
	_, ok, err := p.test(ctx, fmt.Sprintf("%s=%d", Var, number), tests, limit)
	return !ok, err
}

// test runs tests of the package with a variable.
func (p *GoPackage) test(ctx context.Context, variable string, tests []string, limit time.Duration) ([]byte, bool, error) {
	return p.run(ctx, []string{variable}, []string{
		p.program(), "-test.run=^(" + strings.Join(tests, "|") + ")$", "-test.failfast", "-test.count=1",
	}, limit)
}

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
