package store

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// FormatError reports that the log of a run has another format than the one that this program reads.
type FormatError = wire.FormatError

// Landed describes a run without its log: what has landed, by the commits of its mirror, and its repository, by run.json. Of the
// task that is named it has the patch too. Nothing else is in it.
func (d Dir) Landed(ctx context.Context, id, task string) (*run.State, error) {
	if d.Path == "" {
		return nil, usage.Errorf("the landed commits of run %s without its log are known on its host", id)
	}
	m, err := ReadMeta(d.Run(id))
	if err == nil && m.Repo == "" && m.Order == "" {
		err = usage.Errorf("%s does not name the repository of run %s: write {\"repo\": \"DIR\"} into it",
			MetaPath(d.Run(id)), id)
	}
	if err != nil {
		return nil, err
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	mirror, err := g.OpenMirror(filepath.Join(d.Run(id), "repo.git"))
	if err != nil {
		return nil, err
	}
	st := run.NewState()
	st.Spec, st.Damaged = run.Spec{Run: id, Repo: m.Repo, Base: mirror.Base()}, true
	if st.Head, err = mirror.Ref(ctx, run.IntegrationRef(id)); errors.Is(err, git.ErrNotFound) {
		st.Head, err = mirror.Base(), nil
	}
	if err != nil {
		return nil, err
	}
	commits, err := mirror.Trailers(ctx, st.Spec.Base, st.Head)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		if err := addLanded(ctx, st, mirror, c, task); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// addLanded adds the tasks of a commit on the integration branch: several where it is a change set.
func addLanded(ctx context.Context, st *run.State, mirror *git.Repo, c git.Landed, task string) error {
	landing := run.Landing{Head: c.Commit}
	for i, id := range c.Trailers["Divisi-Task"] {
		l := run.Landed{Task: id, Commit: c.Commit, Unverified: strings.Join(c.Trailers["Divisi-Unverified"], "; ")}
		l.Better = strings.Join(c.Trailers["Divisi-Better"], "; ")
		if numbers := c.Trailers["Divisi-Attempt"]; i < len(numbers) {
			l.Attempt, _ = strconv.Atoi(numbers[i]) // one that is no number is not there
		}
		p := &spec.Patch{Commit: c.Commit, Base: cmp.Or(strings.Join(c.Parents, ""), st.Spec.Base)}
		if id == task {
			changes, err := mirror.Changed(ctx, p.Base, p.Commit)
			if err == nil {
				p.Tree, err = mirror.Tree(ctx, p.Commit)
			}
			if err != nil {
				return err
			}
			p.Added, p.Deleted = git.CountLines(changes)
			for _, change := range changes {
				p.Files = append(p.Files, change.Path)
			}
		}
		v := &run.Attempt{Attempt: l.Attempt, Head: p.Base, Result: &spec.Result{Status: spec.StatusDone, Patch: p}}
		st.Tasks.ByID[id] = &run.Task{
			Task: spec.Task{ID: id}, State: run.TaskLanded, Attempt: l.Attempt, Commit: c.Commit, Landed: l, Result: v.Result,
		}
		st.Works[id] = &run.Work{ID: id, Last: l.Attempt, Attempts: map[int]*run.Attempt{l.Attempt: v}}
		st.Tasks.Order, landing.Tasks = append(st.Tasks.Order, id), append(landing.Tasks, l)
	}
	st.Batches.Landed = append(st.Batches.Landed, landing)
	return nil
}
