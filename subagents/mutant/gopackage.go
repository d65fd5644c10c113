package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GoPackage is the test program of a Go package with mutants, compiled once.
type GoPackage struct {
	// Mutants are those that compile.
	Mutants []Mutant
	dir     string
	program string
	seen    string
}

// maxCompiles bounds how often a package is compiled: each time without the mutants that the compiler refused.
const maxCompiles = 4

// maxSource bounds, in bytes, a source file with mutants.
const maxSource = 4 << 20

// Compile compiles the tests of the package in a directory of a module with the mutants that are wanted. Its files are written below
// temp, which must be empty.
func Compile(ctx context.Context, dir, temp string, wanted func(Mutant) bool) (*GoPackage, error) {
	files, err := sources(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &GoPackage{dir: dir, program: filepath.Join(temp, "tests"), seen: filepath.Join(temp, "seen")}
	refused := map[Mutant]bool{}
	for range maxCompiles {
		mutated, mutants, err := Go(files, 1, func(m Mutant) bool { return !refused[m] && wanted(m) })
		if err != nil {
			return nil, err
		}
		p.Mutants = mutants
		said, err := p.compile(ctx, temp, mutated)
		if err == nil {
			return p, nil
		}
		before := len(refused)
		for _, m := range blamed(mutants, dir, temp, said) {
			m.Number, m.from, m.to = 0, 0, 0
			refused[m] = true
		}
		if len(refused) == before {
			return nil, fmt.Errorf("compile the tests of %s with mutants: %w: %s", dir, err, firstLine(said))
		}
	}
	return nil, fmt.Errorf("compile the tests of %s with mutants: the compiler refuses them %d times", dir, maxCompiles)
}

// sources are the Go files of a package that are compiled here, by their paths.
func sources(ctx context.Context, dir string) (map[string][]byte, error) {
	out, err := run(ctx, dir, nil, "go", "list", "-e", "-json=GoFiles", ".")
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w: %s", dir, err, firstLine(out))
	}
	var listed struct{ GoFiles []string }
	if err := json.Unmarshal(out, &listed); err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", dir, err)
	}
	files := map[string][]byte{}
	for _, name := range listed.GoFiles {
		file := filepath.Join(dir, filepath.Base(name))
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
			continue // a link stays as it is
		}
		if files[file], err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("read %s for mutants: %w", file, err)
		}
	}
	return files, nil
}

func (p *GoPackage) compile(ctx context.Context, temp string, mutated map[string][]byte) ([]byte, error) {
	replace := map[string]string{}
	for file, data := range mutated {
		replace[file] = filepath.Join(temp, "mutated-"+filepath.Base(file))
		if err := os.WriteFile(replace[file], data, 0o600); err != nil {
			return nil, fmt.Errorf("write mutants: %w", err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return nil, fmt.Errorf("write mutants: %w", err)
	}
	return run(ctx, p.dir, nil, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", p.program, ".")
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// blamed are the mutants on lines that the compiler complains of.
func blamed(mutants []Mutant, dir, temp string, said []byte) (list []Mutant) {
	for _, c := range complaint.FindAllSubmatch(said, -1) {
		name, line := strings.TrimPrefix(path.Base(string(c[1])), "mutated-"), 0
		line, _ = strconv.Atoi(string(c[2])) // of digits; what is too large is no line
		for _, m := range mutants {
			if m.At(filepath.Join(dir, name), line) {
				list = append(list, m)
			}
		}
	}
	return list
}

// Reached are the numbers of the mutants that tests reach, which pass without one.
func (p *GoPackage) Reached(ctx context.Context, tests []string, limit time.Duration) (numbers []int, err error) {
	if out, err := p.test(ctx, 0, tests, limit); err != nil {
		return nil, fmt.Errorf("run %s without a mutant: %w: %s", strings.Join(tests, ", "), err, lastLine(out))
	}
	data, err := os.ReadFile(p.seen)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
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

// Kills reports whether tests fail, hang or do not end well with a mutant.
func (p *GoPackage) Kills(ctx context.Context, number int, tests []string, limit time.Duration) (bool, error) {
	_, err := p.test(ctx, number, tests, limit)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return err != nil, nil
}

// test runs tests of the package, all of them where none is named, with a mutant; 0 is none, and tells which are reached.
func (p *GoPackage) test(ctx context.Context, number int, tests []string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	env := []string{fmt.Sprintf("%s=%d", Var, number)}
	if number == 0 {
		if err := os.RemoveAll(p.seen); err != nil {
			return nil, err
		}
		env = []string{SeenVar + "=" + p.seen}
	}
	return run(ctx, p.dir, env, p.program, "-test.run=^("+strings.Join(tests, "|")+")$", "-test.failfast", "-test.count=1")
}

// maxSaid bounds, in bytes, what is kept of the output of a command.
const maxSaid = 1 << 20

func run(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Second
	out := &beginning{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	return out.kept.Bytes(), err
}

// beginning keeps the beginning of what is written.
type beginning struct{ kept bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), maxSaid-b.kept.Len())])
	return len(p), nil
}

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
		if ok && fun.Recv == nil && strings.HasPrefix(fun.Name.Name, "Test") && fun.Name.Name != "TestMain" {
			texts[fun.Name.Name] = string(source[set.PositionFor(fun.Pos(), false).Offset:set.PositionFor(fun.End(), false).Offset])
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
