package tester

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
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/mutant"
)

const (
	// maxKills bounds the mutants that a receipt names, maxSurvivors those that the next attempt is told of in each package.
	maxKills, maxSurvivors = 10, 8
	// maxOutput bounds, in bytes, what is read of a command of an experiment.
	maxOutput = 1 << 20
)

// mutants proves tests of code that exists: in each package they have to find a change of the code that no other test finds.
func (t *Executor) mutants(ctx context.Context, g *spec.Gate) (spec.Receipt, error) {
	begin := time.Now()
	r := spec.Receipt{
		Version: spec.ReceiptVersion, Gate: g.Name, Command: g.Command, Tree: t.Tree, Since: t.Assignment.Since,
		Environment: t.environment, Kind: spec.KindTests, Verdict: spec.VerdictPass,
	}
	tests, broken, err := t.newTests(ctx)
	if err != nil {
		return r, fmt.Errorf("find the tests that are new since %s: %w", t.Assignment.Since, err)
	}
	if r.Signatures = broken; len(tests)+len(broken) == 0 {
		r.Signatures = []string{"the patch has no new test in a _test.go file"}
	}
	for _, dir := range slices.Sorted(maps.Keys(tests)) {
		r.Tests += len(tests[dir])
		proof, err := t.kills(ctx, dir, tests[dir])
		why := proof.Refusal()
		switch {
		case errors.Is(err, mutant.ErrRefused):
			why = err.Error()
		case err != nil:
			return r, fmt.Errorf("try mutants in %s: %w", dir, err)
		}
		if why != "" {
			r.Signatures = append(r.Signatures, fmt.Sprintf("%s: %s", of(dir), why))
		}
		for _, m := range proof.Kills {
			r.Kills = append(r.Kills, m.In(dir))
		}
		for _, m := range proof.Lives[:min(len(proof.Lives), maxSurvivors)] {
			r.Tail += "no test finds " + m.In(dir) + "\n"
		}
	}
	r.Kills = r.Kills[:min(len(r.Kills), maxKills)]
	if len(r.Signatures) > 0 {
		r.Verdict, r.ExitCode = spec.VerdictFail, 1
	}
	slices.Sort(r.Signatures)
	r.Duration = time.Since(begin)
	return r, t.leave(ctx, &r)
}

// of names a package by its directory.
func of(dir string) string {
	if dir == "." {
		return "the package at the top"
	}
	return "the package in " + dir
}

// newTests are the tests that the patch adds or changes, by the directories of their packages, and why files of it are no Go.
func (t *Executor) newTests(ctx context.Context) (tests map[string][]string, broken []string, err error) {
	changed, err := t.Changed(ctx, t.Assignment.Since)
	if err != nil {
		return nil, nil, err
	}
	tests = map[string][]string{}
	for _, file := range changed {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		now, err := t.ReadAt(ctx, t.Assignment.Head, file)
		if err != nil {
			return nil, nil, err
		}
		before, err := t.ReadAt(ctx, t.Assignment.Since, file)
		if err != nil {
			return nil, nil, err
		}
		if now == nil {
			continue // it is removed
		}
		names, err := mutant.GoTests(file, now, before)
		if err != nil {
			broken = append(broken, err.Error())
		}
		if dir := path.Dir(file); len(names) > 0 {
			tests[dir] = append(tests[dir], names...)
		}
	}
	return tests, broken, nil
}

// kills tries mutants of the package in a directory of the tree with its new tests.
func (t *Executor) kills(ctx context.Context, dir string, tests []string) (proof mutant.Proof, err error) {
	ground, err := t.beside(sandbox.Gates)
	if err != nil {
		return proof, err
	}
	seen := ground.Place.Seen()
	place := mutant.Place{
		Dir: filepath.Join(t.Dir, dir), SeenDir: filepath.Join(seen.Tree, dir),
		Temp: filepath.Join(ground.Place.Temp, "mutants"), SeenTemp: filepath.Join(seen.Temp, "mutants"),
	}
	if err := os.MkdirAll(place.Temp, 0o700); err != nil {
		return proof, fmt.Errorf("make a directory for mutants: %w", err)
	}
	heard, stop := t.listen("mutants of " + dir)
	defer stop()
	run := func(ctx context.Context, env, args []string, limit time.Duration) ([]byte, bool, error) {
		out, err := sandbox.Run(ctx, sandbox.Command{
			Args: args, Dir: place.Dir, Env: slices.Concat(ground.Env, env), Place: ground.Place, Writable: ground.Writable,
			Readable: ground.Readable, Network: t.Assignment.Role.Network, Loopback: t.Assignment.Role.Loopback, More: true,
			Timeout: limit, MaxOutput: maxOutput, OnOutput: heard,
		})
		if err != nil {
			return nil, false, err
		}
		if out.Cancelled {
			return nil, false, context.Cause(ctx)
		}
		return []byte(out.Text()), out.Success(), nil
	}
	p, err := mutant.Compile(ctx, place, run, func(mutant.Mutant) bool { return true })
	if err != nil {
		return proof, err
	}
	return p.Prove(ctx, tests)
}
