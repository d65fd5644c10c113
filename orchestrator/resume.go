package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

func resume(ctx context.Context, o *ResumeOptions, from hosting) (_ *Run, err error) {
	h, err := newHalf(ctx, &o.Machine)
	switch {
	case err != nil:
		return nil, err
	case o.Budget != nil && *o.Budget < 0:
		return nil, usage.Wrong("budget cannot be negative")
	case !bus.ValidToken(o.Run):
		return nil, usage.Errorf("%q is no run's id", o.Run)
	}
	defer func() {
		if err != nil {
			h.release()
		}
	}()
	h.hosting = from
	h.path, h.resumes, h.budget, h.notices = h.dir.Run(o.Run), true, o.Budget, confinement()
	h.unverified, h.unread = o.AllowUnverified, o.AllowUnread
	m, err := store.ReadMeta(h.path)
	if err != nil {
		return nil, err
	}
	if h.Strict = h.Strict || m.Strict; h.Strict {
		if err := sandbox.Probe().Strict(); err != nil {
			return nil, err
		}
	}
	if h.bus, err = h.dir.Hold(ctx, o.Run, m.Server()); err != nil {
		return nil, err
	}
	h.later(func() { h.dir.Close(h.bus) })
	if m.Order != "" {
		return h.carry(ctx, o, m)
	}
	st, err := h.dir.Fold(ctx, h.bus, o.Run)
	if err == nil {
		err = resumable(st, o)
	}
	if err != nil {
		return nil, err
	}
	h.spec = st.Spec
	h.spec.Plan = revised(st)
	if err := h.openCheckout(ctx, o.Repo, m); err != nil {
		return nil, err
	}
	if err := errors.Join(h.checkout.Writable(), needs.Servers(&h.spec), h.findCaches(m.Demo)); err != nil {
		return nil, err
	}
	if err = h.wholeMirror(ctx, st); err == nil {
		err = h.keepCutOff(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	release, err := h.keep(h.notice)
	if err != nil {
		return nil, err
	}
	h.later(release)
	if err := h.takeCheckout(ctx); err != nil {
		return nil, err
	}
	if o.Repo != "" || m.Lost || m.Strict != h.Strict {
		m.Repo, m.Strict = h.checkout.Top, h.Strict
		if err := m.Write(h.path); err != nil {
			return nil, err
		}
	}
	h.spec.Repo, h.AutoApprove = h.checkout.Top, o.AutoApprove || st.Spec.AutoApprove
	h.notices = append(h.notices, resumed(st, m, o.Record)...)
	return h.launch(ctx, st)
}

// revised is the plan of a run with its tasks as they have been revised since: these can need a model that no other task needs.
func revised(st *run.State) *spec.Plan {
	if st.Spec.Plan == nil {
		return nil
	}
	p := *st.Spec.Plan
	p.Tasks = slices.Clone(p.Tasks)
	for _, id := range st.Tasks.Order {
		if t := st.Tasks.ByID[id]; len(t.Revisions) > 0 {
			p.Tasks = append(p.Tasks, t.Task)
		}
	}
	return &p
}

// openRepositories opens the repository that the run started from, wherever it is now, and the run's mirror of it.
func (h *conduct) openRepositories(ctx context.Context, moved string, m store.Meta) (err error) {
	if err = h.openCheckout(ctx, moved, m); err == nil {
		h.mirror, err = h.git.OpenMirror(filepath.Join(h.path, mirrorDir))
	}
	return err
}

func (h *conduct) openCheckout(ctx context.Context, moved string, m store.Meta) (err error) {
	if m.Order != "" {
		return usage.Errorf("run %s was submitted from another machine, and is published from there", h.spec.Run)
	}
	if h.checkout, err = h.origin(ctx, cmp.Or(moved, m.Repo, h.spec.Repo)); err != nil {
		return err
	}
	h.exclude = h.checkout.Exclude()
	return nil
}

func (h *conduct) origin(ctx context.Context, repo string) (*git.Checkout, error) {
	id := h.spec.Run
	c, err := h.dir.Inspect(ctx, h.git, repo)
	if err != nil {
		return nil, usage.With(usage.Errorf("the repository of run %s: %v", id, err), usage.Moved, id)
	}
	if _, err := h.git.Resolve(ctx, c, h.spec.Base); err != nil {
		return nil, usage.With(usage.Errorf("%s no longer has the commit that run %s started from, %s: it was removed by git "+
			"gc, or this is another repository\nFetch the commit again, or name the repository that has it",
			c.Top, id, short(h.spec.Base)), usage.Moved, id)
	}
	return c, nil
}

// resumed are the notices of a run whose description was lost, or whose recording ends here.
func resumed(st *run.State, m store.Meta, record string) (notices []string) {
	if m.Lost {
		notices = append(notices, "run.json was missing or damaged, and was written again; a recording of this run was not "+
			"continued, and whether it was to be strict is not known")
	}
	if m.Record == "" || record != "" {
		return notices
	}
	ends := fmt.Sprintf("the run was recorded in %s until now, and is not any more: name that directory to continue the "+
		"recording", m.Record)
	if slices.Contains(st.Notices, ends) {
		return notices
	}
	return append(notices, ends)
}

// resumable returns why a run cannot go on, if it cannot.
func resumable(st *run.State, o *ResumeOptions) error {
	if st.Status == run.Done || st.Status == run.Parked || st.Status == run.Cancelled {
		return over(st, fmt.Sprintf("run %s is over: %s", st.Spec.Run, st.Status))
	}
	return allowed(st, o)
}

// allowed returns which option a run needs to go on, if it needs one.
func allowed(st *run.State, o *ResumeOptions) error {
	id, used := st.Spec.Run, st.Usage.Total()
	switch {
	case st.StoppedByBudget() && o.Budget == nil:
		return usage.With(usage.Errorf("run %s has used %d of %d tokens", id, used, st.Budget), usage.Spent, id, 2*st.Budget)
	case o.Budget != nil && *o.Budget > 0 && *o.Budget <= used:
		return usage.Wrong("budget %d is for the whole run, which has used %d tokens already", *o.Budget, used)
	case proof.Unproven(st) && !o.AllowUnverified:
		return needs.Unproven(st)
	}
	return nil
}
