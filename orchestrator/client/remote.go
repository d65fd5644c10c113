package client

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
)

// On returns the runs of the host on a server. Those that it opens are watched in the log on the server, and asked like those of
// this machine; the host answers what needs its copy of the repository. Where no host listens, logs can still be read, but by a
// viewer whom the host shows them.
func On(at depot.Server) Runs { return Remote(at) }

// Remote is the place of the runs of the host on a server.
type Remote depot.Server

// List implements Runs.
func (o Remote) List(ctx context.Context) ([]string, error) {
	a, err := AskOn(ctx, depot.Server(o), call.HostList, "", call.Listing{})
	return a.Runs, err
}

// Summary implements Runs.
func (o Remote) Summary(ctx context.Context, id string) (Summary, error) {
	return AskOn(ctx, depot.Server(o), call.HostSummary, id, call.None{})
}

// Open implements Runs.
func (o Remote) Open(ctx context.Context, id string) (*Run, error) {
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	dir := store.Dir{Log: *zerolog.Ctx(ctx)}
	m, err := Reach(ctx, depot.Server(o))
	if err != nil {
		return nil, err
	}
	a, err := AskHost(ctx, m, call.HostLook, id, call.None{})
	if err != nil && !errors.Is(err, bus.ErrNoListener) {
		m.Close(ctx)
		return nil, err
	}
	b, err := depot.Server(o).Open(ctx, id)
	if err != nil {
		m.Close(ctx)
		return nil, err
	}
	if m.viewed.Load() {
		b.ReadThrough(m.pages(id))
	}
	r := NewRun(id, dir, b)
	r.Host, r.AtRest = m, !a.Active
	return r, nil
}

// RemoveOn has the host on a server remove a run that is not active, there and on the server, and its copies of the repository's
// commits. One whose branch no person has published is refused without unfetched.
func RemoveOn(ctx context.Context, at depot.Server, id string, unfetched bool) (Removed, error) {
	return AskOn(ctx, at, call.HostRemove, id, unfetched)
}

// here refuses what needs the directory of a run on another machine.
func (r *Run) here(what string) error {
	if r.Host == nil {
		return nil
	}
	return usage.Errorf("%s where run %s is conducted: run %s was submitted to %s", what, r.Name, r.Name, r.Bus.URL())
}
