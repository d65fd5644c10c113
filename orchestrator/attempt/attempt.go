// Package attempt shows the patch and the gate output of one attempt, checks an attempt out into a directory of a person, and
// makes a patch of that directory. Its input is the run's log, its objects and its mirror, and such a directory; its output are
// the values that `divisi diff`, `log` and `take` print, and the patch of `divisi give` with its pack. It never writes the log.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// Attempt is one attempt of a task, with what its run's log has of it.
type Attempt struct {
	*run.Attempt

	st   *run.State
	dir  store.Dir
	bus  *bus.Bus
	task string
	// format is why the log was not read; nil where it was. Then only what landed is known.
	format *store.FormatError
}

// Find folds the log of a run and finds an attempt of a task; 0 is the newest. One that does not exist is a usage.Error. Where
// the log has another format it finds what landed.
func Find(ctx context.Context, dir store.Dir, b *bus.Bus, id, task string, number int) (*Attempt, error) {
	a := &Attempt{dir: dir, bus: b, task: task}
	st, err := dir.Fold(ctx, b, id)
	if errors.As(err, &a.format) {
		if st, err = dir.Landed(ctx, id, task); err == nil {
			if w := st.Works[task]; w == nil || number > 0 && w.Last != number {
				err = fmt.Errorf("%w\nWithout its log only landed commits can be found, and %s did not land", a.format,
					strings.TrimSuffix(wire.AgentID(task, number), "/0"))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	a.st = st
	return a, a.choose(number)
}

// Newest is the newest attempt of a task as a state of its run has it.
func Newest(dir store.Dir, b *bus.Bus, st *run.State, task string) (*Attempt, error) {
	a := &Attempt{dir: dir, bus: b, task: task, st: st}
	return a, a.choose(0)
}

// choose finds the attempt in the state.
func (a *Attempt) choose(number int) error {
	id, w, t := a.st.Spec.Run, a.st.Works[a.task], a.st.Tasks.ByID[a.task]
	if w != nil && number == 0 {
		number = w.Last
	}
	switch {
	case w == nil && t == nil:
		near := spec.Nearest(a.task, a.st.Tasks.Order)
		if near != "" {
			near = fmt.Sprintf(" (did you mean %q?)", near)
		}
		return usage.With(usage.Errorf("run %s has no task %q%s", id, a.task, near), usage.Show, id)
	case w == nil:
		return usage.With(usage.Errorf("%s has no attempt: it was not started and is %s", a.task,
			strings.TrimSuffix(string(t.State)+": "+t.Reason, ": ")), usage.Show, id+"/"+a.task)
	case w.Attempts[number] == nil:
		return usage.Errorf("%s has no attempt %d\nName its newest one: %s/%s", a.task, number, id, wire.AgentID(a.task, w.Last))
	}
	a.Attempt = w.Attempts[number]
	return nil
}

// Patch is the change of an attempt. Base is the commit that it started from, Commit its own.
type Patch struct {
	Run     string   `json:"run"`
	Task    string   `json:"task"`
	Attempt int      `json:"attempt"`
	Base    string   `json:"base"`
	Commit  string   `json:"commit"`
	Files   []string `json:"files"`
	Diff    string   `json:"diff"`
}

// Diff returns the attempt's patch as git prints it, or how many lines of each file changed.
func (a *Attempt) Diff(ctx context.Context, stat bool) (*Patch, error) {
	name := wire.AgentID(a.task, a.Attempt.Attempt)
	none := func(format string, args ...any) error {
		return usage.With(usage.Errorf(format, args...), usage.Log, a.st.Spec.Run+"/"+name)
	}
	switch r := a.Result; {
	case r == nil:
		return nil, none("%s has no patch: it has no result yet", name)
	case r.Patch == nil && r.Status == spec.StatusDone:
		return nil, none("%s has no patch: it changed nothing", name)
	case r.Patch == nil:
		return nil, none("%s has no patch: it ended as %s: %s", name, r.Status, run.FaultOf(r).Message)
	}
	mirror, err := a.mirror(ctx)
	if err != nil {
		return nil, err
	}
	p := a.Result.Patch
	out, err := a.show(ctx, mirror, p, stat)
	if err != nil {
		return nil, err
	}
	return &Patch{a.st.Spec.Run, a.task, a.Attempt.Attempt, a.Head, p.Commit, p.Files, string(out)}, nil
}

// show returns the differences of a patch. One that the mirror lacks, because it was refused or is new, is shown from a
// repository beside it.
func (a *Attempt) show(ctx context.Context, mirror *git.Repo, p *spec.Patch, stat bool) (out []byte, err error) {
	if known, err := mirror.Has(ctx, p.Commit); err != nil {
		return nil, err
	} else if known {
		return mirror.Show(ctx, a.Head, p.Commit, stat)
	}
	dir, err := os.MkdirTemp("", "divisi-diff-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the patch of %s/%d: %w", a.task, a.Attempt.Attempt, err)
	}
	defer func() { err = errors.Join(err, workspace.Remove(dir)) }()
	beside, err := mirror.Clone(ctx, dir, a.task, a.Head)
	if err == nil {
		err = a.fetch(ctx, mirror, beside, p)
	}
	if err != nil {
		return nil, err
	}
	return beside.Show(ctx, a.Head, p.Commit, stat)
}
