package conduct

import (
	"context"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// ResumeOn has the host on a server continue a run that was stopped. Of the options Budget, AllowUnverified and AllowUnread
// count.
func ResumeOn(ctx context.Context, at depot.Server, o ResumeOptions) (*client.Run, error) {
	id := o.Run
	w, err := vouch(ctx, at, id)
	if err != nil {
		return nil, err
	}
	before, err := endOfLog(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if _, err := client.AskOn(ctx, at, call.HostResume, id, call.Resumption{
		Budget: o.Budget, AllowUnverified: o.AllowUnverified, AllowUnread: o.AllowUnread, Warrant: w,
	}); err != nil {
		return nil, err
	}
	r, err := client.On(at).Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r.Since = before
	return r, nil
}

// endOfLog is the position of the newest event of a run; 0 for none.
func endOfLog(ctx context.Context, at depot.Server, id string) (uint64, error) {
	if !bus.ValidToken(id) {
		return 0, usage.Errorf("%q is no run's id", id)
	}
	b, err := at.Open(ctx, id)
	if err != nil {
		return 0, err
	}
	defer (&client.Host{Bus: b}).Close(ctx)
	m, err := b.Last(ctx, bus.RunFilter(id))
	if err != nil || m == nil {
		return 0, err
	}
	return m.Pos, nil
}

// vouch has the person who logs in to a server sign a run as it was submitted; nil for who has no login of a person.
func vouch(ctx context.Context, at depot.Server, id string) (*wire.Warrant, error) {
	if person, err := at.Person(); err != nil || !person {
		return nil, err
	}
	a, err := client.AskOn(ctx, at, call.HostLook, id, call.None{})
	if err != nil {
		return nil, err
	}
	b, err := at.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer (&client.Host{Bus: b}).Close(ctx)
	o, err := depot.UnsealOrder(ctx, b, id, a.Order)
	if err != nil {
		return nil, err
	}
	return o.Sign(at)
}
