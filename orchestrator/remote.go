package orchestrator

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
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
