package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/mutant"
	"divisi/subagents/mutant/script"
)

// interpretedLanguage makes a language of the gates' commands, for the extensions of its files.
type interpretedLanguage struct {
	extensions []string
	of         func(commands [][]string) mutant.Language
}

var languages = []interpretedLanguage{
	{[]string{".py"}, func(commands [][]string) mutant.Language { return mutant.NewPython(commands) }},
	{
		[]string{".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"},
		func(commands [][]string) mutant.Language { return script.New(commands) },
	},
}

// interpreted proves new tests in languages without a compiler.
func (t *Executor) interpreted(ctx context.Context, r *spec.Receipt) error {
	changed, err := t.Changed(ctx, t.Assignment.Since)
	if err != nil {
		return err
	}
	commands := commandsOf(t.Assignment.Project.Gates)
	for _, one := range languages {
		l := one.of(commands)
		files := slices.DeleteFunc(slices.Clone(changed), func(file string) bool {
			return !slices.Contains(one.extensions, path.Ext(file)) || !l.IsTest(file)
		})
		if len(files) == 0 {
			continue
		}
		if err := t.tryLanguage(ctx, l, files, changed, r); err != nil {
			return fmt.Errorf("try mutants in %s files: %w", one.extensions[0], err)
		}
	}
	return nil
}

// tryLanguage proves the new tests in files of the patch, which changes others too.
func (t *Executor) tryLanguage(ctx context.Context, l mutant.Language, files, changed []string, r *spec.Receipt) error {
	e, end, err := t.experiment("")
	if err != nil {
		return err
	}
	defer end()
	e.Before, e.Wanted = map[string][]byte{}, func(m mutant.Mutant) bool { return !slices.Contains(changed, m.File) }
	now := map[string][]byte{}
	for _, file := range files {
		text, err := t.ReadAt(ctx, t.Assignment.Head, file)
		if err != nil {
			return err
		}
		if e.Before[file], err = t.ReadAt(ctx, t.Assignment.Since, file); err != nil {
			return err
		}
		if text != nil {
			now[file] = text
		}
		if tells(text) {
			r.Signatures = append(r.Signatures, namesVariable(file))
		}
	}
	tests, proof, err := t.proveLanguage(ctx, e, l, now)
	return prove(r, "", "", len(tests), proof, err)
}

// proveLanguage tries mutants with the tests that are new, and puts the tree back.
func (t *Executor) proveLanguage(ctx context.Context, e mutant.Experiment, l mutant.Language, now map[string][]byte) (
	tests []mutant.Test, proof mutant.Proof, err error,
) {
	tests, about, err := mutant.NewTests(ctx, e, l, now)
	if err != nil || len(tests) == 0 {
		return tests, proof, err
	}
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return tests, proof, err
	}
	p, err := mutant.Open(ctx, e, l, slices.Sorted(maps.Keys(blobs)))
	if err != nil {
		return tests, proof, err
	}
	defer t.putBack(ctx, p, &err)
	proof, err = mutant.Prove(ctx, p, tests, about, gate.DefaultTimeout-time.Minute)
	return tests, proof, err
}

// engine compares the tests of a directory in the language.
func (one interpretedLanguage) engine() engine {
	return func(t *Executor, ctx context.Context, dir string, p *patched, until time.Time) (c compared, err error) {
		e, end, err := t.experiment("")
		if err != nil {
			return c, err
		}
		defer end()
		l := one.of(commandsOf(t.Assignment.Project.Gates))
		since, after := map[string][]byte{}, map[string][]byte{}
		e.Before, e.Base, e.Wanted = map[string][]byte{}, map[string][]byte{}, func(mutant.Mutant) bool { return true }
		for _, file := range p.changed {
			if !slices.Contains(one.extensions, path.Ext(file)) {
				continue
			}
			was, now := e.Base, since
			if l.IsTest(file) {
				was, now = e.Before, after
			}
			if was[file], err = t.ReadAt(ctx, t.Assignment.Since, file); err == nil {
				now[file], err = t.ReadAt(ctx, t.Assignment.Head, file)
			}
			if err != nil {
				return c, err
			}
			if path.Dir(file) == dir && tells(now[file]) {
				return c, fmt.Errorf("%w: %s", mutant.ErrRefused, namesVariable(file))
			}
		}
		e.Renames, e.Data, e.Fold = mutant.RenamesOf(e.Base, since), p.data, mutant.FoldOf(e.Before, after)
		return t.compareInterpreted(ctx, &e, l, dir, after, since, until)
	}
}

// tells reports whether a test may know which mutant is chosen.
func tells(text []byte) bool { return bytes.Contains(bytes.ToUpper(text), []byte("DIVISI_")) }

func namesVariable(file string) string {
	return file + " names a variable of the program that tries the tests"
}

// compareInterpreted tries mutants with the tests of a directory before and after the patch, and puts the tree back.
func (t *Executor) compareInterpreted(
	ctx context.Context, e *mutant.Experiment, l mutant.Language, dir string, after, since map[string][]byte,
	until time.Time,
) (c compared, err error) {
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return c, err
	}
	files := slices.Sorted(maps.Keys(blobs))
	touched, tests, err := mutant.TouchedIn(ctx, e, l, dir, files, after)
	if err != nil {
		return c, err
	}
	if c.tests = len(touched.Tests()); len(tests[0])+len(tests[1]) == 0 {
		return c, fmt.Errorf("%w: they differ in names alone", mutant.ErrRefused)
	}
	p, err := mutant.Open(ctx, *e, l, files)
	if err != nil {
		return c, err
	}
	defer t.putBack(ctx, p, &err)
	var red map[string]string
	touched.Brief, touched.Product, touched.Since = t.Assignment.Task.Brief, e.Base, since
	c.Comparison, red, err = p.Compare(ctx, touched, tests, until)
	c.add(touched, red)
	return c, err
}

// putBack puts the tree back after an experiment, and adds what fails of that to an error.
func (t *Executor) putBack(ctx context.Context, p *mutant.Interpreted, err *error) {
	closed := p.Close()
	_, restored := t.Restore(context.WithoutCancel(ctx))
	*err = errors.Join(*err, closed, restored)
}

func commandsOf(gates []spec.Gate) (commands [][]string) {
	for _, g := range gates {
		commands = append(commands, g.Command)
	}
	return commands
}

// afterPath are variables of an experiment; the directories with modules of Python that gates have stay behind its own.
func afterPath(env, gates []string) []string {
	const name = "PYTHONPATH"
	env = slices.Clone(env)
	for i, v := range env {
		if had := stage.Lookup(gates, name); had != "" && strings.HasPrefix(v, name+"=") {
			env[i] += string(os.PathListSeparator) + had
		}
	}
	return env
}
