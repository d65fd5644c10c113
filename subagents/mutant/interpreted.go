package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Language is an interpreted language. Nothing is compiled: files with mutants take the place of the originals in a tree of their
// own.
type Language interface {
	// IsTest reports whether a file has tests, by its path.
	IsTest(file string) bool
	// Products are those of the files in which mutants are of use to tests, the likeliest first.
	Products(files, tests []string) []string
	// Read returns what is in sources by their paths: mutants, which have no number yet, and tests. A file that cannot be read is
	// left out. It may run a program.
	Read(ctx context.Context, e Experiment, sources map[string][]byte) (map[string]Source, error)
	// Text is a source with mutants, while that of a number is chosen, or none for 0. It tells in SeenVar which are reached.
	Text(source []byte, of Source, number int) []byte
	// Command is the gate's command for tests alone, or for all where there are none.
	Command(p Place, tests []Test) (env, args []string, err error)
	// Outcomes reads which tests ran. ended reports whether the run ended by itself.
	Outcomes(p Place, output []byte, ended bool) (map[Test]Outcome, error)
}

// Source is what a language finds in a file. Tests has their texts by their names, Idle why some of them look as if they proved
// nothing. Head is the byte at which Lead stands in a file with mutants.
type Source struct {
	Changes     []Change
	Tests, Idle map[string]string
	Head        int
	Lead        string
}

// Change is a mutant as text in place of the bytes from From to To of its source. Loads reports that it runs when that is loaded.
type Change struct {
	Mutant
	From, To int
	Alt      string
	Loads    bool
}

// NewTests are the tests in files whose text differs from before, and what is odd about some of them.
func NewTests(ctx context.Context, e Experiment, l Language, now map[string][]byte) (
	tests []Test, about map[Test]About, err error,
) {
	has, err := l.Read(ctx, e, now)
	if err != nil {
		return nil, nil, err
	}
	had, err := l.Read(ctx, e, e.Before)
	if err != nil {
		return nil, nil, err
	}
	about = map[Test]About{}
	for _, file := range slices.Sorted(maps.Keys(has)) {
		for _, name := range slices.Sorted(maps.Keys(has[file].Tests)) {
			if had[file].Tests[name] != has[file].Tests[name] {
				tests = append(tests, Test{file, name})
				about[Test{file, name}] = About{has[file].Tests[name], has[file].Idle[name]}
			}
		}
	}
	return tests, about, nil
}

// Interpreted are the tests of a project in an interpreted language, with mutants in its tree. It is used by one goroutine.
type Interpreted struct {
	Experiment

	language Language
	files    []string
	tree     *tree
	mutants  []Mutant
	products map[string]*changed
	// uses has, by the mutants of code that names what others change when they are loaded, these.
	uses map[int][]int
	// now has the test files that the patch changes as it has them, code its other files on this side of it.
	now, code map[string][]byte
}

// changed is a source with mutants.
type changed struct {
	source []byte
	of     Source
}

// maxFiles bounds the files that have mutants.
const maxFiles = 2000

// Open finds the mutants of the product files among some paths of a tree. Close puts the tree back.
func Open(ctx context.Context, e Experiment, l Language, files []string) (*Interpreted, error) {
	p := &Interpreted{Experiment: e, language: l, files: files, tree: newTree(e.Place.Dir)}
	return p, p.open(ctx, nil)
}

// over is the project in the same tree with all its mutants, and other texts for some files.
func (p *Interpreted) over(ctx context.Context, instead map[string][]byte) (*Interpreted, error) {
	q := &Interpreted{Experiment: p.Experiment, language: p.language, files: p.files, tree: p.tree}
	return q, q.open(ctx, instead)
}

// open finds the mutants, with other texts for some files.
func (p *Interpreted) open(ctx context.Context, instead map[string][]byte) error {
	p.products, p.now, p.code = map[string]*changed{}, map[string][]byte{}, map[string][]byte{}
	read := func(file string) ([]byte, error) {
		if text, ok := instead[file]; ok {
			return text, nil
		}
		return p.tree.read(file)
	}
	tests := slices.Sorted(maps.Keys(p.Before))
	var err error
	for _, file := range tests {
		if p.now[file], err = p.tree.read(file); err != nil {
			return err
		}
	}
	for file := range p.Data.Before {
		if p.now[file], err = p.tree.read(file); err != nil {
			return err
		}
	}
	for file := range p.Base {
		if _, err = p.tree.read(file); err == nil {
			p.code[file], err = read(file)
		}
		if err != nil {
			return err
		}
	}
	sources := map[string][]byte{}
	for _, file := range p.language.Products(p.files, tests) {
		data, err := read(file)
		if err != nil {
			return err
		}
		if data != nil && utf8.Valid(data) && len(sources) < maxFiles {
			sources[file] = data
		}
	}
	found, err := p.language.Read(ctx, p.Experiment, sources)
	if err != nil {
		return err
	}
	p.number(sources, found)
	return nil
}

// number gives the mutants that are wanted their numbers.
func (p *Interpreted) number(sources map[string][]byte, found map[string]Source) {
	number, loaded := p.Number(), map[string][]int{}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		of := found[file]
		of.Changes = nil
		for _, c := range found[file].Changes {
			if c.File = file; p.Wanted(c.Mutant) {
				c.fold(p.Fold, sources[file])
				c.Number = number
				if number++; c.Loads {
					name := c.Func[strings.LastIndexByte(c.Func, '.')+1:]
					loaded[name] = append(loaded[name], c.Number)
				}
				of.Changes, p.mutants = append(of.Changes, c), append(p.mutants, c.Mutant)
			}
		}
		if len(of.Changes) > 0 {
			p.products[file] = &changed{sources[file], of}
		}
	}
	p.uses = map[int][]int{}
	for _, m := range p.mutants {
		for _, name := range namesIn(m.Func + "\n" + m.Old) {
			p.uses[m.Number] = append(p.uses[m.Number], loaded[name]...)
		}
	}
}

// All are the mutants in the order of their numbers.
func (p *Interpreted) All() []Mutant { return p.mutants }

// Keep leaves mutants in place whose numbers are in a list, or that tell what reaches these, and no others.
func (p *Interpreted) Keep(numbers []int) {
	keep := map[int]bool{}
	for _, n := range numbers {
		keep[n] = true
	}
	for n, loaded := range p.uses {
		keep[n] = keep[n] || slices.ContainsFunc(loaded, func(one int) bool { return slices.Contains(numbers, one) })
	}
	for file, in := range p.products {
		in.of.Changes = slices.DeleteFunc(in.of.Changes, func(c Change) bool { return !keep[c.Number] })
		if len(in.of.Changes) == 0 {
			delete(p.products, file)
		}
	}
	p.mutants = slices.DeleteFunc(p.mutants, func(m Mutant) bool { return !keep[m.Number] })
}

// Try runs tests with a mutant.
func (p *Interpreted) Try(ctx context.Context, v Version, number int, tests []Test, limit time.Duration) (ran Ran, err error) {
	if err := p.lay(v, number); err != nil {
		return ran, err
	}
	seen := filepath.Join(p.Place.Temp, SeenFile)
	if err := os.RemoveAll(seen); err != nil {
		return ran, fmt.Errorf("remove which mutants were reached: %w", err)
	}
	env, args, err := p.language.Command(p.Place, tests)
	if err != nil {
		return ran, err
	}
	if number == 0 {
		number = p.none()
	}
	env = append(env, fmt.Sprintf("%s=%d", Var, number), SeenVar+"="+filepath.Join(p.Place.SeenTemp, SeenFile))
	begin := time.Now()
	out, ok, err := p.Run(ctx, env, args, limit)
	if err != nil {
		return ran, err
	}
	ran.Said = out
	if ran.Outcomes, err = p.language.Outcomes(p.Place, out, ok || time.Since(begin) < limit); err != nil {
		return ran, err
	}
	ran.Reached, err = p.reached()
	return ran, err
}

// reached reads lines of a number, and of the file and the name of a test where these are known, between tabs.
func (p *Interpreted) reached() (map[Test][]int, error) {
	data, err := p.Place.Told(SeenFile)
	reached, has := map[Test][]int{}, map[int]bool{}
	for _, m := range p.mutants {
		has[m.Number] = true
	}
	for line := range bytes.Lines(data) {
		part := append(strings.Split(strings.TrimRight(string(line), "\n"), "\t"), "", "")
		n, err := strconv.Atoi(part[0])
		if err == nil && part[1] != loading && has[n] {
			test := Test{part[1], part[2]}
			reached[test] = append(append(reached[test], n), p.uses[n]...)
		}
	}
	for test, numbers := range reached {
		slices.Sort(numbers)
		reached[test] = slices.Compact(numbers)
	}
	return reached, err
}

// loading is the file of what is reached before any test runs.
const loading = "-"

// Told reads a file that a run left in the directory for files; nothing where there is none.
func (p Place) Told(name string) ([]byte, error) {
	dir, err := os.OpenRoot(p.Temp)
	if err != nil {
		return nil, fmt.Errorf("read what the tests told: %w", err)
	}
	defer dir.Close() // it is read only
	data, err := dir.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read what the tests told: %w", err)
	}
	return data, nil
}

// none is a number of no mutant.
func (p *Interpreted) none() int {
	for {
		if n := p.Number(); !slices.ContainsFunc(p.mutants, func(m Mutant) bool { return m.Number == n }) {
			return n
		}
	}
}

// lay puts the texts of a version and of a mutant into the tree.
func (p *Interpreted) lay(v Version, number int) error {
	texts := maps.Clone(p.code)
	maps.Copy(texts, p.now)
	if v == Old {
		maps.Copy(texts, p.Before)
		maps.Copy(texts, p.Data.Before)
	}
	for file, in := range p.products {
		texts[file] = p.language.Text(in.source, in.of, number)
	}
	for file, text := range p.altered {
		if _, err := p.tree.read(file); err != nil {
			return err
		}
		texts[file] = text
	}
	for file := range p.tree.last {
		if _, has := texts[file]; !has {
			texts[file] = p.tree.first[file]
		}
	}
	for file, text := range texts {
		if err := p.tree.write(file, text); err != nil {
			return err
		}
	}
	return nil
}

// Close puts all files back as they were.
func (p *Interpreted) Close() error {
	var errs []error
	for file := range p.tree.last {
		errs = append(errs, p.tree.write(file, p.tree.first[file]))
	}
	return errors.Join(errs...)
}
