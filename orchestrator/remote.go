package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// On returns the runs of the host on a server. Those that it opens are watched in the log on the server, and asked like those of
// this machine; the host answers what needs its copy of the repository. Where no host listens, logs can still be read, but by a
// viewer whom the host shows them.
func On(at Server) Runs { return on(at) }

type on Server

// List implements Runs.
func (o on) List(ctx context.Context) ([]string, error) {
	a, err := o.ask(ctx, hostCall{Verb: verbList})
	return a.Runs, err
}

// Summary implements Runs.
func (o on) Summary(ctx context.Context, id string) (Summary, error) {
	a, err := o.ask(ctx, hostCall{Verb: verbSummary, Run: id})
	if err != nil || a.Summary == nil {
		return Summary{}, err
	}
	return *a.Summary, nil
}

func (o on) ask(ctx context.Context, q hostCall) (hostAnswer, error) {
	m, err := Server(o).reach(ctx)
	if err != nil {
		return hostAnswer{}, err
	}
	defer m.close(ctx)
	return m.ask(ctx, q)
}

// Open implements Runs.
func (o on) Open(ctx context.Context, id string) (*Run, error) {
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	dir := store.Dir{Log: *zerolog.Ctx(ctx)}
	m, err := Server(o).reach(ctx)
	if err != nil {
		return nil, err
	}
	a, err := m.ask(ctx, hostCall{Verb: verbLook, Run: id})
	if err != nil && !errors.Is(err, bus.ErrNoListener) {
		m.close(ctx)
		return nil, err
	}
	b, err := Server(o).open(ctx, id)
	if err != nil {
		m.close(ctx)
		return nil, err
	}
	if m.viewed.Load() {
		b.ReadThrough(m.pages(id))
	}
	r := newRun(id, dir, b)
	r.host, r.notRunning = m, !a.Active
	return r, nil
}

// ResumeOn has the host on a server go on with a run that was stopped. Of the options Budget, AllowUnverified and AllowUnread
// count.
func ResumeOn(ctx context.Context, at Server, o ResumeOptions) (*Run, error) {
	id := o.Run
	w, err := vouch(ctx, at, id)
	if err != nil {
		return nil, err
	}
	before, err := endOfLog(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if _, err := on(at).ask(ctx, hostCall{
		Verb: verbResume, Run: id, Budget: o.Budget, AllowUnverified: o.AllowUnverified, AllowUnread: o.AllowUnread, Warrant: w,
	}); err != nil {
		return nil, err
	}
	r, err := On(at).Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r.resumed = before
	return r, nil
}

// endOfLog is the position of the newest event of a run; 0 for none.
func endOfLog(ctx context.Context, at Server, id string) (uint64, error) {
	if !bus.ValidToken(id) {
		return 0, usage.Errorf("%q is no run's id", id)
	}
	b, err := at.open(ctx, id)
	if err != nil {
		return 0, err
	}
	defer (&client{bus: b}).close(ctx)
	m, err := b.Last(ctx, bus.RunFilter(id))
	if err != nil || m == nil {
		return 0, err
	}
	return m.Pos, nil
}

// vouch has the person who logs in to a server sign a run as it was submitted; nil for who has no login of a person.
func vouch(ctx context.Context, at Server, id string) (*wire.Warrant, error) {
	if s, err := store.Server(at).Options(); err != nil || s.Login == nil || s.Login.Role != member.Person {
		return nil, err
	}
	a, err := on(at).ask(ctx, hostCall{Verb: verbLook, Run: id})
	if err != nil {
		return nil, err
	}
	b, err := at.open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer (&client{bus: b}).close(ctx)
	o, err := unsealOrder(ctx, b, id, a.Order)
	if err != nil {
		return nil, err
	}
	return o.sign(at)
}

// RemoveOn has the host on a server remove a run that is not active, there and on the server, and its copies of the repository's
// commits. One whose branch no person has published is refused without unfetched.
func RemoveOn(ctx context.Context, at Server, id string, unfetched bool) (Removed, error) {
	a, err := on(at).ask(ctx, hostCall{Verb: verbRemove, Run: id, Unfetched: unfetched})
	if err != nil || a.Removed == nil {
		return Removed{}, err
	}
	return *a.Removed, nil
}

// here refuses what needs the directory of a run on another machine.
func (r *Run) here(what string) error {
	if r.host == nil {
		return nil
	}
	return usage.Errorf("%s where run %s is conducted: run %s was submitted to %s", what, r.id, r.id, r.bus.URL())
}

// PublishTo puts what has landed in a run that was submitted, and has ended, into a repository that has the commit that the run
// started from, as Publish does.
func (r *Run) PublishTo(ctx context.Context, repo string) (_ Result, err error) {
	if r.host == nil {
		return Result{}, usage.Errorf("run %s is on this machine, and knows its repository", r.id)
	}
	st, err := r.dir.Fold(ctx, r.bus, r.id)
	switch {
	case err != nil:
		return Result{}, err
	case !st.Status.Ended():
		return Result{}, usage.Errorf("run %s is active: publish what landed when it has ended", r.id)
	case st.Head == st.Spec.Base:
		return Result{}, usage.Errorf("nothing has landed in run %s", r.id)
	}
	var notices []string
	h := &conduct{place: place{dir: r.dir, log: r.dir.Log}, spec: st.Spec}
	h.Notice = func(text, _ string) { notices = append(notices, text) }
	tmp, err := os.MkdirTemp("", "divisi-publish-")
	if err != nil {
		return Result{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := r.fetch(ctx, h, repo, filepath.Join(tmp, "repo.git"), st); err != nil {
		return Result{}, err
	}
	defer h.mirror.Close()
	seen, err := r.host.ask(ctx, hostCall{Verb: verbLook, Run: r.id})
	if err != nil {
		return Result{}, err
	}
	st.Spec.Repo = h.checkout.Top
	if st.Ref, err = h.publish(ctx, st.Head, st.Spec.Base, seen.Fetched); err != nil {
		return Result{}, err
	}
	if _, err := r.host.ask(ctx, hostCall{Verb: verbFetched, Run: r.id, Commit: st.Head}); err != nil {
		return Result{}, fmt.Errorf("%s is in %s; the host was not told: %w", st.Ref, st.Spec.Repo, err)
	}
	result := resultOf(st)
	result.Notices = notices
	return result, h.compare(ctx, &result)
}

// fetch opens a repository, and makes a mirror at a directory that has what has landed.
func (r *Run) fetch(ctx context.Context, h *conduct, repo, dir string, st *run.State) (err error) {
	if h.git, err = git.New(ctx); err != nil {
		return err
	}
	if h.checkout, err = h.origin(ctx, repo); err != nil {
		if code, _ := usage.CodeOf(err); code == usage.Moved {
			err = usage.With(usage.Errorf("%v", err), usage.Elsewhere, r.id)
		}
		return err
	}
	if err := h.checkout.Writable(); err != nil {
		return err
	}
	a, err := r.host.ask(ctx, hostCall{Verb: verbCommit, Run: r.id, Commit: st.Head, Have: st.Spec.Base})
	if err != nil {
		return err
	}
	if h.mirror, err = h.git.CreateMirror(ctx, dir, h.checkout, st.Spec.Base); err != nil {
		return err
	}
	if err = (sealedPack{a.Object, a.Size}).copy(ctx, r.host.bus.Cache(), h.mirror.ImportFrom); err != nil {
		h.mirror.Close()
	}
	return err
}
