package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
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
	packages, broken, err := t.newTests(ctx)
	if err != nil {
		return r, fmt.Errorf("find the tests that are new since %s: %w", t.Assignment.Since, err)
	}
	r.Signatures = broken
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		proof, err := t.kills(ctx, dir, packages[dir], gate.DefaultTimeout/time.Duration(len(packages)))
		if err := prove(&r, dir, of(dir)+": ", len(packages[dir].tests), proof, err); err != nil {
			return r, fmt.Errorf("try mutants in %s: %w", dir, err)
		}
	}
	if err := t.interpreted(ctx, &r); err != nil {
		return r, err
	}
	if r.Tests+len(r.Signatures) == 0 {
		r.Signatures = []string{"the patch has no new test that can be tried"}
	}
	r.Kills = r.Kills[:min(len(r.Kills), maxKills)]
	if len(r.Signatures) > 0 {
		r.Verdict, r.ExitCode = spec.VerdictFail, 1
	}
	slices.Sort(r.Signatures)
	r.Duration = time.Since(begin)
	return r, t.leave(ctx, &r)
}

// prove adds to a receipt what tests prove, with the words before why they do not; dir is that of the files with mutants.
func prove(r *spec.Receipt, dir, words string, tests int, proof mutant.Proof, err error) error {
	why := proof.Refusal()
	if errors.Is(err, mutant.ErrRefused) {
		why, err = err.Error(), nil
	}
	if err != nil || tests == 0 {
		return err
	}
	if r.Tests += tests; why != "" {
		r.Signatures = append(r.Signatures, words+why)
	}
	for _, m := range proof.Kills {
		r.Kills = append(r.Kills, m.In(dir))
	}
	for _, m := range proof.Lives[:min(len(proof.Lives), maxSurvivors)] {
		r.Tail += "no test finds " + m.In(dir) + "\n"
	}
	return nil
}

// of names a package by its directory.
func of(dir string) string {
	if dir == "." {
		return "the package at the top"
	}
	return "the package in " + dir
}

// newPackage is a package with new tests: their texts by their names, its test files that the patch changes as they were before,
// and its other files that it changes.
type newPackage struct {
	tests   map[string]string
	before  map[string][]byte
	changed map[string]bool
}

// newTests are the packages with tests that the patch adds or changes, by their directories, and why some prove nothing.
func (t *Executor) newTests(ctx context.Context) (packages map[string]*newPackage, broken []string, err error) {
	changed, err := t.Changed(ctx, t.Assignment.Since)
	if err != nil {
		return nil, nil, err
	}
	packages = map[string]*newPackage{}
	for _, file := range changed {
		dir, name := path.Dir(file), path.Base(file)
		if packages[dir] == nil {
			packages[dir] = &newPackage{map[string]string{}, map[string][]byte{}, map[string]bool{}}
		}
		p := packages[dir]
		if p.changed[name] = true; !strings.HasSuffix(name, "_test.go") {
			continue
		}
		now, err := t.ReadAt(ctx, t.Assignment.Head, file)
		if err != nil {
			return nil, nil, err
		}
		if p.before[name], err = t.ReadAt(ctx, t.Assignment.Since, file); err != nil {
			return nil, nil, err
		}
		if now == nil {
			continue // it is removed
		}
		tests, err := mutant.GoTests(file, now, p.before[name])
		if err == nil && bytes.Contains(now, []byte("DIVISI_")) {
			err = fmt.Errorf("%s names a variable of the program that tries the tests", file)
		}
		if err != nil {
			broken = append(broken, err.Error())
		}
		maps.Copy(p.tests, tests)
	}
	maps.DeleteFunc(packages, func(_ string, p *newPackage) bool { return len(p.tests) == 0 })
	return packages, broken, nil
}

// kills tries mutants of the package in a directory of the tree with its new tests, in files that the patch does not change.
func (t *Executor) kills(ctx context.Context, dir string, of *newPackage, budget time.Duration) (proof mutant.Proof, err error) {
	e, end, err := t.experiment(dir)
	if err != nil {
		return proof, err
	}
	defer end()
	e.Before, e.Wanted = of.before, func(m mutant.Mutant) bool { return !of.changed[m.File] }
	p, err := mutant.Compile(ctx, e)
	if err != nil {
		return proof, err
	}
	about, tests := map[mutant.Test]mutant.About{}, []mutant.Test{}
	for _, name := range slices.Sorted(maps.Keys(of.tests)) {
		tests = append(tests, mutant.Test{Name: name})
		about[mutant.Test{Name: name}] = mutant.About{Text: of.tests[name]}
	}
	return mutant.Prove(ctx, p, tests, about, budget)
}

// experiment is one with the package in a directory of the tree. Its commands run as gates do.
func (t *Executor) experiment(dir string) (e mutant.Experiment, end func(), err error) {
	ground, err := t.beside(sandbox.Gates)
	if err != nil {
		return e, nil, err
	}
	seen := ground.Place.Seen()
	e = mutant.Experiment{
		Place: mutant.Place{
			Dir: filepath.Join(t.Dir, dir), SeenDir: filepath.Join(seen.Tree, dir),
			Temp: filepath.Join(ground.Place.Temp, "mutants"), SeenTemp: filepath.Join(seen.Temp, "mutants"),
		},
		Flags:  goFlags(t.Assignment.Project.Gates),
		Number: func() int { return 1 + rand.IntN(math.MaxInt32) }, //nolint:gosec // it is no secret
	}
	if err := os.MkdirAll(e.Place.Temp, 0o700); err != nil {
		return e, nil, fmt.Errorf("make a directory for mutants: %w", err)
	}
	own := variables(t.Assignment.Project.Gates)
	heard, end := t.listen("mutants of " + dir)
	e.Run = func(ctx context.Context, env, args []string, limit time.Duration) ([]byte, bool, error) {
		out, err := sandbox.Run(ctx, sandbox.Command{
			Args: args, Dir: e.Place.Dir, Env: slices.Concat(ground.Env, own, afterPath(env, ground.Env)),
			Place: ground.Place, Writable: ground.Writable,
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
	return e, end, nil
}

// variables are those that gates give their programs.
func variables(gates []spec.Gate) (own []string) {
	for _, g := range slices.Backward(gates) { // the first one counts
		if len(g.Command) > 0 && path.Base(g.Command[0]) == "env" {
			for _, word := range g.Command[1:] {
				if name, _, found := strings.Cut(word, "="); !found || strings.HasPrefix(name, "-") {
					break
				}
				own = append(own, word)
			}
		}
	}
	return own
}

// decides are flags of go that decide what a package is compiled of.
var decides = []string{"tags", "race", "mod", "modfile"}

// goFlags are those with which the first gate that calls "go test" compiles.
func goFlags(gates []spec.Gate) (flags []string) {
	for _, g := range gates {
		i := slices.Index(g.Command, "test")
		if i < 1 || path.Base(g.Command[i-1]) != "go" {
			continue
		}
		for rest := g.Command[i+1:]; len(rest) > 0; rest = rest[1:] {
			name, _, whole := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
			if !strings.HasPrefix(rest[0], "-") || !slices.Contains(decides, name) {
				continue
			}
			if flags = append(flags, rest[0]); !whole && name != "race" && len(rest) > 1 {
				flags, rest = append(flags, rest[1]), rest[1:]
			}
		}
		return flags
	}
	return nil
}
