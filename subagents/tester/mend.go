package tester

import (
	"context"
	"slices"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/gate/testnames"
)

// mends reports whether the gates prove a batch that mends red ones, or that leads through red ones. They run in full then: later
// batches are compared with them.
func (t *Executor) mends() bool {
	task := t.Assignment.Task
	return t.Assignment.Since != "" && len(task.Mends)+len(task.Through) > 0
}

// mending holds the criteria of a gate of such a batch; nil in any other run.
func (t *Executor) mending(ctx context.Context, name string, before *spec.Receipt) (*gate.Mending, error) {
	if !t.mends() || before == nil {
		return nil, nil
	}
	passed, err := testnames.Load(ctx, t.Objects, before.Names...)
	named := slices.Contains(t.Assignment.Task.Mends, name)
	return &gate.Mending{
		Named: named, Passed: passed, Round: named && t.Assignment.Task.InRound(),
		Through: slices.Contains(t.Assignment.Task.Through, name),
		Changed: func(ctx context.Context) ([]string, error) { return t.Changed(ctx, t.Assignment.Since) },
		Before:  func(ctx context.Context, path string) ([]byte, error) { return t.ReadAt(ctx, t.Assignment.Since, path) },
	}, err
}
