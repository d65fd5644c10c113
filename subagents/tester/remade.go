package tester

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/grade"
)

// The bounds of what is told of the files that a gate changed: how many its receipt has, and for a note in bytes.
const (
	maxWrote   = 20
	maxChanged = 200
)

// restore takes back what a gate changed, with a note, and returns it.
func (t *Executor) restore(ctx context.Context, gate string) ([]string, error) {
	changed, err := t.Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("restore the tree after gate %s: %w", gate, err)
	}
	if len(changed) > 0 {
		t.noted = append(t.noted, fmt.Sprintf("gate %s changed %s, now restored: %s",
			gate, text.Count(len(changed), "file"), text.Tail(strings.Join(changed, ", "), maxChanged)))
	}
	return changed[:min(len(changed), maxWrote)], nil
}

// remade reports whether a gate is green and changed a file of the tree that it does not change on the base commit. It may have
// made it again because what it is made of is newer here, and in a clone is not: there the file would be as it was committed.
func (t *Executor) remade(r, before *spec.Receipt) bool {
	if t.Assignment.Base || !r.LetsThrough() {
		return false
	}
	if len(r.Wrote) == maxWrote { // the others are not known
		return true
	}
	return slices.ContainsFunc(r.Wrote, func(name string) bool { return before == nil || !slices.Contains(before.Wrote, name) })
}

// again runs a gate once more without what caches know of it. This run counts. Where its tool takes results from a cache all the
// same, a note tells.
func (t *Executor) anew(
	ctx context.Context, g spec.Gate, where gate.Where, whole *transcript, tests *testnames.Tests, before *grade.Reading,
) (r spec.Receipt, err error) {
	if r, err = t.again(ctx, g, where, whole, tests, before); err == nil && r.LetsThrough() && *where.Stale {
		t.noted = append(t.noted, fmt.Sprintf(
			"gate %s takes results from a cache, which may miss changes: make its command run all tests", g.Name))
	}
	return r, err
}

// evenly runs a gate once more, in the tree as a clone has it: all files have one time. This run counts.
func (t *Executor) evenly(
	ctx context.Context, g spec.Gate, where gate.Where, whole *transcript, tests *testnames.Tests, before *grade.Reading,
) (spec.Receipt, error) {
	if err := t.Even(ctx); err != nil {
		return spec.Receipt{}, err
	}
	return t.again(ctx, g, where, whole, tests, before)
}

// again runs a gate in a place of its own, without what caches know of it.
func (t *Executor) again(
	ctx context.Context, g spec.Gate, where gate.Where, whole *transcript, tests *testnames.Tests, before *grade.Reading,
) (spec.Receipt, error) {
	ground, err := t.beside(sandbox.Gates)
	if err != nil {
		return spec.Receipt{}, err
	}
	where.Env, where.Place, where.Writable, where.Readable = gate.Anew(ground.Env), ground.Place, ground.Writable, ground.Readable
	*whole, *tests = transcript{}, testnames.Tests{}
	r, reading, err := t.run(ctx, g, where)
	if err == nil && reading != nil {
		before.Join(reading)
	}
	return r, err
}
