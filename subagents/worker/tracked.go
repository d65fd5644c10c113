package worker

import (
	"context"
	"errors"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/textfile"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// tracked lists the files of the commit that the attempt was given.
func (at *attempt) tracked(ctx context.Context) (files []string, err error) {
	entries, err := at.worker.cfg.Mirror.Files(ctx, at.commit)
	for _, e := range entries {
		if e.Mode == git.ModeFile || e.Mode == git.ModeExec || e.Mode == git.ModeSymlink {
			files = append(files, e.Path)
		}
	}
	return files, err
}

// lost lists what differs in the work tree from the commit that the attempt was given.
func (at *attempt) lost(ctx context.Context) ([]string, error) {
	files, err := at.slot.Changed(ctx)
	if content := new(workspace.ContentError); errors.As(err, &content) {
		return []string{content.Why}, nil
	}
	return files, err
}

// remaining applies the rule of the task's shard to its files once more; nil for a task without one, or whose tree is not wanted.
func (at *attempt) remaining() func(context.Context) ([]string, error) {
	task := &at.assignment.Task
	if task.Rule == nil || task.Rule.Match == "" || at.tree() == nil {
		return nil
	}
	return func(context.Context) ([]string, error) {
		p, err := textfile.Compile(task.Rule.Match)
		if err != nil {
			return nil, &wire.RefusedError{Err: fmt.Errorf("the match of %s: %w", task.ShardOf, err)}
		}
		return at.slot.Match(p, task.Files[:min(task.Rule.Files, len(task.Files))])
	}
}
