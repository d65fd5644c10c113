package assign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ident signs what an attempt starts with.
var ident = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// continueCommand lets a model that follows a command in a chain start with the command's change, as one commit on its head. A
// change that no longer merges stays a diff in the brief.
func (g *given) continueCommand(ctx context.Context, a *wire.Assignment, t *run.Task) error {
	f := g.commandBefore(t)
	if f == nil || a.Start != nil || a.Role.Executor != spec.ExecutorModel || t.Head != "" {
		return nil
	}
	usable, err := g.importChecked(ctx, t, f.Patch)
	if err != nil || !usable {
		return err
	}
	what := fmt.Sprintf("Attempt %d ran the command of this role, and did not pass. ", f.Attempt)
	start, conflicts, err := g.onto(ctx, t, f.Patch, a.Head)
	switch {
	case err != nil:
		return err
	case start == nil:
		a.Message = what + "Its change is NOT in your work tree: it no longer merges onto the head, in " +
			strings.Join(conflicts, ", ") + "."
	default:
		a.Start, a.Message = start, what+"Its change is in your work tree, and becomes part of your own result."
	}
	return nil
}

// commandBefore is the newest attempt of a command of the task's chain that failed and left a patch that its write set allows;
// nil for none. A role before a transfer had another chain.
func (g *given) commandBefore(t *run.Task) *run.AttemptFault {
	from := 0
	if n := len(t.Handovers); n > 0 {
		from = t.Handovers[n-1].Attempt
	}
	for i := range slices.Backward(t.Recent()) {
		f := &t.Recent()[i]
		made := g.st.Spec.RoleOn(t, f.Choice.At).Executor
		if f.Attempt > from && f.Patch != nil && made == spec.ExecutorCommand && f.Fault.Class != wire.FaultWriteSet {
			return f
		}
	}
	return nil
}

// importChecked imports the patch of an attempt that failed, which nothing has imported yet, and checks it as every other one. A
// patch that is refused cannot be used.
func (g *given) importChecked(ctx context.Context, t *run.Task, p *spec.Patch) (usable bool, err error) {
	known, err := g.mirror.Has(ctx, p.Commit)
	if err == nil && !known {
		var pack []byte
		if pack, err = g.bus.Get(ctx, p.Pack); err == nil {
			err = g.mirror.Import(ctx, pack)
		}
	}
	if err == nil {
		set := t.WriteSet(g.st.Spec.Project.Protected)
		err = git.CheckPatch(ctx, g.mirror, *p, func(path string, made bool) bool {
			return set.RefuseChange(path, made) == ""
		})
	}
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, new(*git.PatchError)), errors.Is(err, git.ErrPack), errors.Is(err, git.ErrTooLarge),
		errors.Is(err, bus.ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("import the patch %s of task %s: %w", p.Commit, t.Task.ID, err)
}

// onto returns a patch as one commit on a head; nil, with the paths, where it conflicts with what landed since.
func (g *given) onto(ctx context.Context, t *run.Task, p *spec.Patch, head string) (*spec.Patch, []string, error) {
	if p.Base == head {
		return p, nil, nil
	}
	fail := func(err error) error {
		return fmt.Errorf("merge the patch %s of task %s onto %s: %w", p.Commit, t.Task.ID, head, err)
	}
	m, err := g.mirror.MergeTree(ctx, head, p.Commit)
	if err != nil {
		return nil, nil, fail(err)
	}
	if !m.Clean() {
		return nil, m.Paths, nil
	}
	commit, err := g.mirror.CommitTree(m.Tree, []string{head}, t.Task.ID, ident, ident, g.st.Time)
	if err != nil {
		return nil, nil, fail(err)
	}
	if err := g.share(ctx, commit, head); err != nil {
		return nil, nil, fail(err)
	}
	return &spec.Patch{Base: head, Commit: commit, Tree: m.Tree}, nil, nil
}
