package mutant

import (
	"bytes"
	"context"
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

// Change is a mutant as text in place of the bytes from From to To of its source.
type Change struct {
	Mutant
	From, To int
	Alt      string
}

// NewTests are the tests in files whose text differs from before, and what is odd about some of them.
func NewTests(ctx context.Context, e Experiment, l Language, now map[string][]byte) (
	tests []Test, why map[Test]string, err error,
) {
	has, err := l.Read(ctx, e, now)
	if err != nil {
		return nil, nil, err
	}
	had, err := l.Read(ctx, e, e.Before)
	if err != nil {
		return nil, nil, err
	}
	why = map[Test]string{}
	for _, file := range slices.Sorted(maps.Keys(has)) {
		for _, name := range slices.Sorted(maps.Keys(has[file].Tests)) {
			if had[file].Tests[name] != has[file].Tests[name] {
				tests = append(tests, Test{file, name})
				why[Test{file, name}] = has[file].Idle[name]
			}
		}
	}
	return tests, why, nil
}

// Interpreted are the tests of a project in an interpreted language, with mutants in its tree. It is used by one goroutine.
type Interpreted struct {
	Experiment
	language Language
	mutants  []Mutant
	products map[string]*changed
	// now has the test files that the patch changes as it has them; texts is what was written to the tree.
	now, texts map[string][]byte
	writes     int
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
	p := &Interpreted{
		Experiment: e, language: l, products: map[string]*changed{}, now: map[string][]byte{}, texts: map[string][]byte{},
	}
	tests := slices.Sorted(maps.Keys(e.Before))
	for _, file := range tests {
		data, err := p.read(file)
		if err != nil {
			return nil, err
		}
		p.now[file] = data
	}
	sources := map[string][]byte{}
	for _, file := range l.Products(files, tests) {
		data, err := p.read(file)
		if err != nil {
			return nil, err
		}
		if data != nil && utf8.Valid(data) && len(sources) < maxFiles {
			sources[file] = data
		}
	}
	read, err := l.Read(ctx, e, sources)
	if err != nil {
		return nil, err
	}
	number := e.Number()
	for _, file := range slices.Sorted(maps.Keys(read)) {
		of := read[file]
		of.Changes = nil
		for _, c := range read[file].Changes {
			if c.File = file; e.Wanted(c.Mutant) {
				c.Number = number
				number++
				of.Changes, p.mutants = append(of.Changes, c), append(p.mutants, c.Mutant)
			}
		}
		if len(of.Changes) > 0 {
			p.products[file] = &changed{sources[file], of}
		}
	}
	return p, nil
}

// read returns a regular file of the tree; nil where there is none, or it is too large.
func (p *Interpreted) read(file string) ([]byte, error) {
	dir, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer dir.Close() // it is read only
	info, err := dir.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil, nil // what is made elsewhere, or a link, stays as it is
	}
	data, err := dir.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s for mutants: %w", file, err)
	}
	return append([]byte{}, data...), nil
}

// All are the mutants in the order of their numbers.
func (p *Interpreted) All() []Mutant { return p.mutants }

// Keep leaves mutants in place whose numbers are in a list, and no others.
func (p *Interpreted) Keep(numbers []int) error {
	keep := map[int]bool{}
	for _, n := range numbers {
		keep[n] = true
	}
	for file, in := range p.products {
		in.of.Changes = slices.DeleteFunc(in.of.Changes, func(c Change) bool { return !keep[c.Number] })
		if len(in.of.Changes) == 0 {
			if err := p.write(file, in.source); err != nil {
				return err
			}
			delete(p.products, file)
		}
	}
	p.mutants = slices.DeleteFunc(p.mutants, func(m Mutant) bool { return !keep[m.Number] })
	return nil
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
			reached[Test{part[1], part[2]}] = append(reached[Test{part[1], part[2]}], n)
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
	tests := p.now
	if v == Old {
		tests = p.Before
	}
	for file, data := range tests {
		if err := p.write(file, data); err != nil {
			return err
		}
	}
	for file, in := range p.products {
		if err := p.write(file, p.language.Text(in.source, in.of, number)); err != nil {
			return err
		}
	}
	return nil
}

// Close puts all files back as they were.
func (p *Interpreted) Close() error {
	var errs []error
	for file, in := range p.products {
		errs = append(errs, p.write(file, in.source))
	}
	for file, data := range p.now {
		errs = append(errs, p.write(file, data))
	}
	return errors.Join(errs...)
}

// write writes a file of the tree whose text differs from the last one, with a time that no text before it had: interpreters keep
// what they compiled by the time. nil removes it.
func (p *Interpreted) write(file string, data []byte) error {
	last, written := p.texts[file]
	if written && bytes.Equal(last, data) && (last == nil) == (data == nil) {
		return nil
	}
	dir, err := os.OpenRoot(p.Place.Dir)
	if err != nil {
		return fmt.Errorf("open the tree: %w", err)
	}
	defer dir.Close() // what is written is closed
	p.texts[file] = data
	if data == nil {
		if err := dir.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", file, err)
		}
		return nil
	}
	if err := dir.MkdirAll(path.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := dir.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	p.writes++
	at := time.Now().Add(time.Duration(p.writes-maxWrites) * time.Second)
	if err := dir.Chtimes(file, at, at); err != nil {
		return fmt.Errorf("date %s: %w", file, err)
	}
	return nil
}

// maxWrites is more than the files that one experiment writes: their times stay in the past.
const maxWrites = 100_000
