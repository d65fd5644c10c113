package tester

import (
	"context"
	"slices"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/gate/testnames"
)

// mends reports whether the gates prove a batch that mends red ones. They run in full then: later batches are compared with them.
func (t *Executor) mends() bool { return t.Assignment.Since != "" && len(t.Assignment.Task.Mends) > 0 }

// mending holds the criteria of a gate of such a batch; nil in any other run.
func (t *Executor) mending(ctx context.Context, name string, before *spec.Receipt) (*gate.Mending, error) {
	if !t.mends() || before == nil {
		return nil, nil
	}
	passed, err := testnames.Load(ctx, t.Objects, before.Names...)
	return &gate.Mending{
		Named: slices.Contains(t.Assignment.Task.Mends, name), Passed: passed,
		Changed: func(ctx context.Context) ([]string, error) { return t.Changed(ctx, t.Assignment.Since) },
	}, err
}
