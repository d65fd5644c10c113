package attempt

import (
	"context"
	"fmt"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Undo makes the patch that takes out what the task has landed, and stores its pack: a commit on the landed one with the tree
// from before it, so that a merge takes out this change and keeps those of others. What cannot be taken out is a usage.Error.
func (a *Attempt) Undo(ctx context.Context) (*spec.Patch, error) {
	if a.format != nil {
		return nil, a.format
	}
	l, err := request.Droppable(&a.st.Agenda, &a.st.Batches, a.task)
	if err != nil {
		return nil, usage.Errorf("%v", err)
	}
	mirror, err := a.mirror(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := mirror.Tree(ctx, l.Old)
	if err != nil {
		return nil, fmt.Errorf("read the commit before %s: %w", a.task, err)
	}
	p := &spec.Patch{Base: l.Head, Tree: tree}
	changes, err := mirror.Changed(ctx, l.Head, tree)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		p.Files = append(p.Files, c.Path)
	}
	p.Added, p.Deleted = git.CountLines(changes)
	p.Commit, err = mirror.CommitTree(tree, []string{l.Head}, "take out "+a.task, hand, hand, a.st.Spec.Created)
	if err != nil {
		return nil, fmt.Errorf("undo %s: %w", a.task, err)
	}
	if err := a.conflicts(ctx, mirror, p); err != nil {
		return nil, err
	}
	pack, err := mirror.Pack(ctx, p.Commit, l.Head)
	if err != nil {
		return nil, err
	}
	return p, a.store(ctx, p, pack)
}

// conflicts refuses a patch that does not merge onto what has landed: the merge would be a guess about the work of others.
func (a *Attempt) conflicts(ctx context.Context, mirror *git.Repo, p *spec.Patch) error {
	m, err := mirror.MergeTree(ctx, a.st.Tip(), p.Commit)
	if err != nil || m.Clean() {
		return err
	}
	since := slices.DeleteFunc(slices.Clone(a.st.Tasks.Order), func(id string) bool {
		t := a.st.Tasks.ByID[id]
		in := func(path string) bool { return slices.Contains(t.Changes(), path) }
		later := t.State == run.TaskLanded && t.EndedPos > a.st.Tasks.ByID[a.task].EndedPos
		return !later || !slices.ContainsFunc(m.Paths, in)
	})
	return usage.Errorf("%s cannot be taken out: %s changed since\nFirst drop the tasks that changed it, the newest first: %s",
		a.task, text.Some(m.Paths, maxPaths), text.Some(since, maxPaths))
}

// maxPaths bounds the paths and tasks that an error names.
const maxPaths = 8
