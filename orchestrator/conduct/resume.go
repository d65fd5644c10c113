package conduct

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
	"divisi/orchestrator/client"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// foldToResume folds the log of a run, which can and may go on.
func (h *Half) foldToResume(ctx context.Context, o *ResumeOptions) (*run.State, error) {
	st, err := h.Dir.Fold(ctx, h.Bus, o.Run)
	if err == nil {
		err = resumable(st, o)
	}
	if err == nil {
		s := st.Spec
		s.Plan = revised(st)
		if err = needs.Continues(&s, o.AllowUnverified || o.AllowUnread); err == nil && o.Budget != nil {
			err = needs.Priced(&s, *o.Budget)
		}
	}
	return st, err
}

// ResumeHosted continues a run as Resume does, for the host that conducts it.
func ResumeHosted(ctx context.Context, o *ResumeOptions, from Hosting) (_ *client.Run, err error) {
	h, err := newHalf(ctx, &o.Machine)
	switch {
	case err != nil:
		return nil, err
	case o.Budget != nil && o.Budget.Amount < 0:
		return nil, usage.Wrong("budget cannot be negative")
	case !bus.ValidToken(o.Run):
		return nil, usage.Errorf("%q is no run's id", o.Run)
	}
	defer func() {
		if err != nil {
			h.Release()
		}
	}()
	h.Hosting = from
	h.Path, h.budget, h.Notices = h.Dir.Run(o.Run), o.Budget, confinement()
	h.unverified, h.unread = o.AllowUnverified, o.AllowUnread
	m, err := store.ReadMeta(h.Path)
	if err != nil {
		return nil, err
	}
	if h.Strict = h.Strict || m.Strict; h.Strict {
		if err := sandbox.Probe().Strict(); err != nil {
			return nil, err
		}
	}
	if h.Bus, err = h.Dir.Hold(ctx, o.Run, m.Server()); err != nil {
		return nil, err
	}
	h.Later(func() { h.Dir.Close(h.Bus) })
	if m.Order != "" {
		return h.carry(ctx, o, m)
	}
	st, err := h.foldToResume(ctx, o)
	if err != nil {
		return nil, err
	}
	h.Spec = st.Spec
	h.Spec.Plan = revised(st)
	if err := h.openCheckout(ctx, o.Repo, m); err != nil {
		return nil, err
	}
	if err := errors.Join(h.Checkout.Writable(), needs.Servers(&h.Spec), h.findCaches(m.Demo)); err != nil {
		return nil, err
	}
	if err = h.wholeMirror(ctx, st); err == nil {
		err = h.keepCutOff(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	release, err := h.Keep(h.notice)
	if err != nil {
		return nil, err
	}
	h.Later(release)
	if err := h.takeCheckout(ctx); err != nil {
		return nil, err
	}
	if o.Repo != "" || m.Lost || m.Strict != h.Strict {
		m.Repo, m.Strict = h.Checkout.Top, h.Strict
		if err := m.Write(h.Path); err != nil {
			return nil, err
		}
	}
	h.Spec.Repo, h.AutoApprove = h.Checkout.Top, o.AutoApprove || st.Spec.AutoApprove
	h.Notices = append(h.Notices, resumed(st, m, o.Record)...)
	return h.launch(ctx, st)
}

// revised is the plan of a run with its tasks as they have been revised since: these can need a model that no other task needs.
func revised(st *run.State) *spec.Plan {
	if st.Spec.Plan == nil {
		return nil
	}
	p := *st.Spec.Plan
	p.Tasks = slices.Clone(p.Tasks)
	for t := range st.Tasks.All() {
		if len(t.Revisions) > 0 {
			p.Tasks = append(p.Tasks, t.Task)
		}
	}
	return &p
}

// openRepositories opens the repository that the run started from, wherever it is now, and the run's mirror of it.
func (h *Half) openRepositories(ctx context.Context, moved string, m store.Meta) (err error) {
	if err = h.openCheckout(ctx, moved, m); err == nil {
		h.Mirror, err = h.Git.OpenMirror(filepath.Join(h.Path, mirrorDir))
	}
	return err
}

func (h *Half) openCheckout(ctx context.Context, moved string, m store.Meta) (err error) {
	if m.Order != "" {
		return usage.Errorf("run %s was submitted from another machine: publish it there, in a clone of its repository, "+
			"and name this server", h.Spec.Run)
	}
	if h.Checkout, err = h.origin(ctx, cmp.Or(moved, m.Repo, h.Spec.Repo)); err != nil {
		return err
	}
	h.exclude = h.Checkout.Exclude()
	return nil
}

func (h *Half) origin(ctx context.Context, repo string) (*git.Checkout, error) {
	id := h.Spec.Run
	c, err := h.Dir.Inspect(ctx, h.Git, repo)
	if err != nil {
		return nil, usage.With(usage.Errorf("the repository of run %s: %v", id, err), usage.Moved, id)
	}
	if _, err := h.Git.Resolve(ctx, c, h.Spec.Base); err != nil {
		return nil, usage.With(usage.Errorf("%s no longer has the commit that run %s started from, %.12s: it was removed by git "+
			"gc, or this is another repository\nFetch the commit again, or name the repository that has it",
			c.Top, id, h.Spec.Base), usage.Moved, id)
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

// resumable returns why a run cannot continue, if it cannot.
func resumable(st *run.State, o *ResumeOptions) error {
	if st.Status == run.Done || st.Status == run.Parked || st.Status == run.Cancelled {
		return client.Over(st, fmt.Sprintf("run %s is over: %s", st.Spec.Run, st.Status))
	}
	return allowed(st, o)
}

// allowed returns which option a run needs to continue, if it needs one.
func allowed(st *run.State, o *ResumeOptions) error {
	id, used := st.Spec.Run, st.Used()
	switch {
	case st.StoppedByBudget() && o.Budget == nil && st.Unpriced():
		return usage.With(usage.Errorf("run %s: %s", id, st.Reason), usage.Spent, id, st.Raised().Text())
	case st.StoppedByBudget() && o.Budget == nil && !st.DayOver():
		return usage.With(usage.Errorf("run %s has used %s of %s", id, st.Budget.Figure(st.Budget.Of(used)), st.Budget),
			usage.Spent, id, st.Raised().Text())
	case o.Budget != nil && o.Budget.Money && st.Unpriced():
		return usage.Wrong("budget %s: %s", o.Budget.Text(), st.Exhausted.Why)
	case o.Budget != nil && o.Budget.Used(used, 100):
		return usage.Wrong("budget %s is for the whole run, which has used %s already", o.Budget.Text(),
			o.Budget.Figure(o.Budget.Of(used))+o.Budget.Unit())
	case o.Budget != nil && o.Budget.Money && !st.Budget.Money && used.Tokens > 0:
		return usage.Wrong("budget %s: run %s began with one in tokens, or none, and has booked no money for its %d tokens: "+
			"give one in tokens", o.Budget.Text(), id, used.Tokens)
	case !o.AllowUnverified:
		return needs.Provable(&st.Agenda, &st.Proofs)
	}
	return nil
}

// Resume continues a run, as Start does. Its state is computed from its log.
func Resume(ctx context.Context, o ResumeOptions) (*client.Run, error) {
	return ResumeHosted(ctx, &o, Hosting{})
}
