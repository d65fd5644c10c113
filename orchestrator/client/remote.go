package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
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
	r := AttachedTo(id, dir, b)
	if !a.Active {
		r.At = &away{attached{eventlog.Log{Bus: b, Run: id}, dir}, m}
	}
	r.records, r.Sent = onHost{r, m}, true
	return r, nil
}

// RemoveOn has the host on a server remove a run that is not active, there and on the server, and its copies of the repository's
// commits. One whose branch no person has published is refused without unfetched.
func RemoveOn(ctx context.Context, at depot.Server, id string, unfetched bool) (Removed, error) {
	return AskOn(ctx, at, call.HostRemove, id, unfetched)
}

// HostOf is the host that has a run of another machine; nil for one of this.
func HostOf(r *Run) *Host {
	on, _ := r.records.(onHost)
	return on.host
}

// away is a run on a server that no process executes.
type away struct {
	attached

	host *Host
}

// Tail implements reader.
func (a *away) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Batch, error] {
	return a.log.Read(ctx, from)
}

func (a *away) events(ctx context.Context) iter.Seq2[eventlog.Batch, error] {
	return a.log.Read(ctx, 0)
}

// NotRunning implements asker.
func (*away) NotRunning() bool { return true }

// Put has the host do it.
func (a *away) Put(ctx context.Context, q act.Request) (act.Outcome, error) {
	return AskHost(ctx, a.host, call.ConductorAct, a.log.Run, q)
}

// onHost are the records of a run as its host shows them.
type onHost struct {
	*Run

	host *Host
}

func (o onHost) decisions(ctx context.Context) (Decisions, error) {
	return AskHost(ctx, o.host, call.HostDecisions, o.Name, call.None{})
}

func (o onHost) diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error) {
	return call.Ask(ctx, o.host.Line(), call.HostDiff, o.of(task, number), call.Diff{Stat: stat})
}

func (o onHost) context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	return call.Ask(ctx, o.host.Line(), call.HostContext, o.of(task, number), v)
}

func (o onHost) of(task string, number int) call.Head {
	return call.Head{Run: o.Name, At: call.At{Task: task, Attempt: number}}
}

func (o onHost) local(what string) error {
	return usage.Errorf("%s where run %s is conducted: run %s was submitted to %s", what, o.Name, o.Name, o.At.Log().Bus.URL())
}

func (o onHost) close() { o.Dir.Close(o.host.Bus) }
