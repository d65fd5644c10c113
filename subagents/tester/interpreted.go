package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/mutant"
	"divisi/subagents/mutant/script"
)

// languages make an interpreted language of the gates' commands, by the extensions of its files.
var languages = []struct {
	extensions []string
	of         func(commands [][]string) mutant.Language
}{
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
	var commands [][]string
	for _, g := range t.Assignment.Project.Gates {
		commands = append(commands, g.Command)
	}
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
		if bytes.Contains(bytes.ToUpper(text), []byte("DIVISI_")) {
			r.Signatures = append(r.Signatures, file+" names a variable of the program that tries the tests")
		}
	}
	tests, proof, err := t.proveLanguage(ctx, e, l, now)
	r.Tests += len(tests)
	why := proof.Refusal()
	switch {
	case errors.Is(err, mutant.ErrRefused):
		why = err.Error()
	case err != nil:
		return err
	case len(tests) == 0:
		return nil
	}
	if why != "" {
		r.Signatures = append(r.Signatures, why)
	}
	for _, m := range proof.Kills {
		r.Kills = append(r.Kills, m.In(""))
	}
	for _, m := range proof.Lives[:min(len(proof.Lives), maxSurvivors)] {
		r.Tail += "no test finds " + m.In("") + "\n"
	}
	return nil
}

// proveLanguage tries mutants with the tests that are new, and puts the tree back.
func (t *Executor) proveLanguage(ctx context.Context, e mutant.Experiment, l mutant.Language, now map[string][]byte) (
	tests []mutant.Test, proof mutant.Proof, err error,
) {
	tests, why, err := mutant.NewTests(ctx, e, l, now)
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
	defer func() {
		closed := p.Close()
		_, restored := t.Restore(context.WithoutCancel(ctx))
		err = errors.Join(err, closed, restored)
	}()
	proof, err = mutant.Prove(ctx, p, tests, why, gate.DefaultTimeout-time.Minute)
	return tests, proof, err
}
