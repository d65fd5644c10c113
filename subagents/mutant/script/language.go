// Package script reads JavaScript and TypeScript for mutants, and runs tests of theirs alone. Its input are sources, the commands
// of gates and what runners report; its output mutants, and which tests ran. It has a lexer and no parser: what it takes for code
// that is none makes a mutant that no test loads.
package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/subagents/mutant"
)

// Language is JavaScript and TypeScript with the runner of a project. It is used by one goroutine.
type Language struct {
	// gates are the commands of the project's gates.
	gates [][]string
	// files are those of the tree, related those with tests that reach what has mutants.
	files, related []string
	// tests are those of each file that was read; asked those that run.
	tests map[string][]string
	asked []mutant.Test
}

// New is the language for a project with some commands of gates.
func New(gates [][]string) *Language { return &Language{gates: gates, tests: map[string][]string{}} }

var (
	codeFile = lazyregexp.New(`\.[cm]?[jt]sx?$`)
	testFile = lazyregexp.New(`(?:[._-](?:test|spec)|(?:^|/)(?:tests?|(?:tests?|__tests__|specs?)/(?:.*/)?[^/]*))\.[cm]?[jt]sx?$`)
	// noProduct are files that tests of the product do not run.
	noProduct = lazyregexp.New(`\.d\.[cm]?ts$|\.min\.js$|\.config\.[cm]?[jt]s$|` +
		`(?:^|/)(?:\.[^/]*|docs?|examples?|vendor|third_party|node_modules|dist|build|coverage|` +
		`bench(?:mark)?s?|fixtures|__mocks__)/`)
)

// IsTest reports whether a file has tests.
func (l *Language) IsTest(file string) bool {
	return testFile.MatchString(file) && !noProduct.MatchString(file)
}

// Products are all files of the language but those of tests, documentation, settings and other projects.
func (l *Language) Products(files, _ []string) (products []string) {
	l.files = files
	for _, file := range files {
		if codeFile.MatchString(file) && !l.IsTest(file) && !noProduct.MatchString(file) {
			products = append(products, file)
		}
	}
	return products
}

// Read finds mutants in what the changed tests import, in some steps; in all sources where that is nothing.
func (l *Language) Read(_ context.Context, e mutant.Experiment, sources map[string][]byte) (map[string]mutant.Source, error) {
	read := map[string]mutant.Source{}
	dir, err := os.OpenRoot(e.Place.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer dir.Close() // it is read only
	all := maps.Clone(sources)
	for _, file := range slices.Concat(l.files, slices.Collect(maps.Keys(e.Before))) {
		if !l.IsTest(file) || all[file] != nil || len(all) > maxTested {
			continue
		}
		if all[file], err = dir.ReadFile(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all[file] = slices.Concat(all[file], []byte("\n"), e.Before[file])
	}
	imported := l.products(importsOf(slices.Collect(maps.Keys(e.Before)), all))
	for file, data := range sources {
		s := mutant.Source{}
		if l.IsTest(file) {
			s.Tests, s.Idle = testsOf(file, string(data)), map[string]string{}
			for name, text := range s.Tests {
				if !asserts.MatchString(text) {
					s.Idle[name] = "it asserts nothing"
				}
			}
			l.know(file, s.Tests)
		} else if len(imported) == 0 || imported[file] {
			s.Changes = mutantsOf(file, string(data))
		}
		read[file] = s
	}
	l.relate(all, imported)
	return read, nil
}

// products are those of some files that are no tests.
func (l *Language) products(of map[string]bool) map[string]bool {
	maps.DeleteFunc(of, func(file string, _ bool) bool { return l.IsTest(file) })
	return of
}

// maxTested bounds the files that are read for their imports.
const maxTested = 4000

// maxRelated bounds the files with tests that run with a mutant.
const maxRelated = 100

// relate finds the files with tests that import what has mutants.
func (l *Language) relate(all map[string][]byte, imported map[string]bool) {
	l.related = nil
	for _, file := range l.files {
		if !l.IsTest(file) || len(l.related) >= maxRelated {
			continue
		}
		tests := testsOf(file, string(all[file]))
		for to := range importsOf([]string{file}, all) {
			if imported[to] && len(tests) > 0 {
				l.related = append(l.related, file)
				l.know(file, tests)
				break
			}
		}
	}
}

// know keeps the names of the tests of a file.
func (l *Language) know(file string, tests map[string]string) {
	all := append(l.tests[file], slices.Collect(maps.Keys(tests))...)
	slices.Sort(all)
	l.tests[file] = slices.Compact(all)
}

// maxSteps bounds the imports from a test to what has mutants.
const maxSteps = 3

var importing = lazyregexp.New(`\b(?:from|import|require|requireActual|importActual|mock)\s*\(?\s*['"]([^'"\n]+)['"]`)

// importsOf are the sources that some files import, directly or by one another.
func importsOf(files []string, sources map[string][]byte) map[string]bool {
	found := map[string]bool{}
	for range maxSteps {
		var next []string
		for _, file := range files {
			for _, m := range importing.FindAllSubmatch(sources[file], -1) {
				if to := resolve(file, string(m[1]), sources); to != "" && !found[to] {
					found[to], next = true, append(next, to)
				}
			}
		}
		files = next
	}
	return found
}

// extensions are what an import may leave out, or name in place of what is compiled to it.
var extensions = strings.Fields(".ts .tsx .js .jsx .mjs .cjs .mts .cts /index.ts /index.tsx /index.js /index.mjs /index.cjs")

// resolve is the source that a file imports by a name; "" for none.
func resolve(file, name string, sources map[string][]byte) string {
	at := path.Join(path.Dir(file), name)
	if !strings.HasPrefix(name, ".") {
		_, rest, aliased := strings.Cut(name, "/")
		if !aliased {
			return ""
		}
		at = "src/" + rest // such as @/a
	}
	bare := at
	if ext := path.Ext(at); ext == ".js" || ext == ".mjs" || ext == ".cjs" || ext == ".jsx" {
		bare = strings.TrimSuffix(at, ext)
	}
	for _, try := range append([]string{at}, both(extensions, at, bare)...) {
		if sources[path.Clean(try)] != nil {
			return path.Clean(try)
		}
	}
	return ""
}

func both(ends []string, of ...string) (all []string) {
	for _, begin := range of {
		for _, end := range ends {
			all = append(all, begin+end)
		}
	}
	return all
}

// Text is a source with the mutant of a number alone. Without one it tells what it reaches.
func (l *Language) Text(source []byte, of mutant.Source, number int) []byte {
	if len(of.Changes) == 0 {
		return source
	}
	return []byte(textOf(of.Changes[0].File, string(source), of.Changes, number))
}

// Command runs files of tests alone: those of the package of the first one, with its runner.
func (l *Language) Command(p mutant.Place, tests []mutant.Test) (env, args []string, err error) {
	if len(tests) == 0 {
		for _, file := range l.related {
			if exists(filepath.Join(p.Dir, file)) {
				tests = append(tests, mutant.Test{File: file})
			}
		}
	}
	if l.asked = tests; len(tests) == 0 {
		return nil, []string{"true"}, nil // there were no tests
	}
	call, err := l.callOf(p, tests[0].File)
	if err != nil {
		return nil, nil, err
	}
	if err := os.RemoveAll(filepath.Join(p.Temp, reportFile)); err != nil {
		return nil, nil, fmt.Errorf("remove a report: %w", err)
	}
	return nil, call.command(p, tests), nil
}

// Outcomes reads the report of the last command. A run that was ended, or that tells of no test though code with a mutant was
// loaded, broke in a test.
func (l *Language) Outcomes(p mutant.Place, output []byte, ended bool) (map[mutant.Test]mutant.Outcome, error) {
	data, err := p.Told(reportFile)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = output
	}
	var tests []mutant.Test
	for _, t := range l.asked {
		if t.Name != "" {
			tests = append(tests, t)
			continue
		}
		for _, name := range l.tests[t.File] {
			tests = append(tests, mutant.Test{File: t.File, Name: name})
		}
	}
	ran := outcomesOf(readReport(data), tests)
	loaded, err := p.Told(mutant.SeenFile)
	if ended && (len(ran) > 0 || len(loaded) == 0) {
		return ran, err
	}
	for _, t := range tests {
		if ran[t] == "" {
			ran[t] = mutant.Broken
		}
	}
	return ran, err
}
