package door

import (
	"context"
	"strings"
	"sync"

	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// place is where runs are: it is chosen where the page or the tools are made.
type place interface {
	client.Runs
	// mark is another one when the run has changed, where that costs less than to read it.
	mark(ctx context.Context, id string) (mark string, active bool)
	// resume has a run continue for a visitor.
	resume(ctx context.Context, run, by string) error
	// named is the name that goes as the place's own word with what a visitor asks; "" for none.
	named(by string) string
}

// opening opens a run to learn where it stands.
type opening struct {
	client.Runs
	begin func(ctx context.Context, run, by string) error
}

func (p opening) mark(ctx context.Context, id string) (mark string, active bool) {
	r, err := p.Open(ctx, id)
	if err != nil {
		return "away", false
	}
	defer func() { _ = r.Close() }()
	if !r.NotRunning() {
		return "active", true
	}
	return "ended", false // on the server: nothing of it changes by itself
}

func (p opening) resume(ctx context.Context, run, by string) error { return p.begin(ctx, run, by) }

func (opening) named(string) string { return "" }

// directory has the runs of a state directory.
type directory struct {
	opening
	at client.Place
}

func (p directory) mark(ctx context.Context, id string) (mark string, active bool) {
	at := client.StandOf(p.at.Dir(ctx), id)
	return at.Mark, at.Active
}

// hosted has the runs of the host in this process, whose page knows its visitors.
type hosted struct{ directory }

func (hosted) named(by string) string {
	return strings.TrimPrefix(wire.Person(by), wire.Person("")+":")
}

// remote has the runs of the host on a server.
type remote struct {
	opening
	at depot.Server

	mu sync.Mutex
	// stands is the last report of the host about all its runs.
	stands map[string]call.Standing
}

// List asks too where the runs stand.
func (p *remote) List(ctx context.Context) ([]string, error) {
	a, err := client.AskOn(ctx, p.at, call.HostList, "", call.Listing{Stands: true})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stands = a.Stands
	return a.Runs, err
}

func (p *remote) mark(ctx context.Context, id string) (mark string, active bool) {
	p.mu.Lock()
	at, told := p.stands[id]
	p.mu.Unlock()
	if told {
		return at.Mark, at.Active
	}
	return p.opening.mark(ctx, id)
}

func (p *remote) resume(ctx context.Context, run, _ string) error {
	r, err := conduct.ResumeOn(ctx, p.at, conduct.ResumeOptions{Run: run})
	if err != nil {
		return err
	}
	return r.Close()
}
