// Package door opens the runs of one place through two doors beside the command line: the page for a person with a browser, and
// the tools for an agent of another program (MCP). Its input are the runs of a place, its output are those runs as dashboard and
// mcpserver need them. It draws nothing, and does only what a run offers.
package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/release"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/host"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// PageOptions describe the page of the runs of one place.
type PageOptions struct {
	Addr string // a loopback address or port; "" for a free port
	Runs client.Runs
	// Begin starts a process that resumes a run of this machine, and returns when the run goes on. The error is why it does not.
	// It is needed where the runs are Local.
	Begin func(ctx context.Context, run string) error
	// Trust decides about the repository of a run that retries tasks, as that of Retry. It asks nothing: no terminal is there.
	Trust func(ctx context.Context, repo string, requests []string) (bool, error)
	// Called is how a person calls the program for these runs; empty means divisi.
	Called string
}

// Page is a web page on which a person follows runs, decides and acts. It reads and does only what Runs offers.
type Page struct{ server *dashboard.Server }

// NewPage checks the options and returns a page that is not served yet. An address that other machines reach is a mistake of the
// caller: the page is not encrypted.
func NewPage(ctx context.Context, o PageOptions) (*Page, error) {
	d := NewRuns(o.Runs, o.Begin, o.Trust)
	s, err := dashboard.New(dashboard.Options{
		Addr: o.Addr, Runs: d, Controller: d, Version: release.Version(), Called: o.Called,
		Owner:  dashboard.Visitor{Name: strings.TrimPrefix(depot.Account(), "user:"), Writes: true, Raw: true},
		Logger: *zerolog.Ctx(ctx),
	})
	if err != nil {
		return nil, usage.Wrong("dashboard: %s", strings.TrimPrefix(err.Error(), "dashboard: "))
	}
	return &Page{s}, nil
}

// Start serves the page until Stop or the end of ctx.
func (p *Page) Start(ctx context.Context) error { return p.server.Start(ctx) }

// Begin has the page begin with a run, in place of the list of all.
func (p *Page) Begin(run string) { p.server.Begin(run) }

// Stop ends the page; it may be called twice.
func (p *Page) Stop() { p.server.Stop() }

// URL is the address, with the token that it needs.
func (p *Page) URL() string { return p.server.URL() }

// Shown reports whether a browser shows the page.
func (p *Page) Shown() bool { return p.server.Shown() }

// Closed waits until no browser shows the page any more, or ctx ends.
func (p *Page) Closed(ctx context.Context) { p.server.Closed(ctx) }

// PageRuns is Runs as the page uses them.
type PageRuns struct {
	place

	// trust is that of Retry.
	trust func(ctx context.Context, repo string, requests []string) (bool, error)
	// withheld is what visitors are not shown.
	withheld []string

	mu sync.Mutex
	// kept is how the runs that are not active stood last.
	kept map[string]dashboard.Standing
}

// NewRuns are the runs of a place, for a person of this machine; begin and trust are those of PageOptions.
func NewRuns(
	runs client.Runs, begin func(ctx context.Context, run string) error,
	trust func(ctx context.Context, repo string, requests []string) (bool, error),
) *PageRuns {
	at := opening{runs, func(ctx context.Context, run, _ string) error { return begin(ctx, run) }}
	d := &PageRuns{place: at, trust: trust, kept: map[string]dashboard.Standing{}}
	switch runs := runs.(type) {
	case client.Place:
		d.place = directory{at, runs}
	case client.Remote:
		d.place = &remote{opening: at, at: depot.Server(runs)}
	}
	return d
}

// NewHosted are the runs of the host in this process, for visitors of its page.
func NewHosted(runs host.Hosted, begin func(ctx context.Context, run, by string) error) *PageRuns {
	d := &PageRuns{
		place: hosted{directory{opening{runs, begin}, client.Place(runs.Host.Dir.Path)}}, kept: map[string]dashboard.Standing{},
	}
	if runs.Redacted {
		d.withheld = []string{dashboard.ShowLog, dashboard.ShowContext}
	}
	return d
}

// Stand implements dashboard.Runs.
func (d *PageRuns) Stand(ctx context.Context, id string) (dashboard.Standing, error) {
	mark, active := d.mark(ctx, id)
	if active {
		return dashboard.Standing{Mark: mark, Active: true}, nil
	}
	d.mu.Lock()
	kept, known := d.kept[id]
	d.mu.Unlock()
	if known && kept.Mark == mark {
		return kept, nil
	}
	s, err := d.Summary(ctx, id)
	if err != nil {
		return dashboard.Standing{Mark: mark, Row: view.Row{State: "unreadable"}}, err
	}
	var r view.Report
	if err := json.Unmarshal(s.Report, &r); err != nil {
		return dashboard.Standing{Mark: mark}, fmt.Errorf("read the report of run %s: %w", id, err)
	}
	kept = dashboard.Standing{Mark: mark, Row: view.RowIn(id, s.State, &r)}
	kept.Row.Problem = s.Problem
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[id] = kept
	return kept, nil
}

// Open implements dashboard.Runs.
func (d *PageRuns) Open(ctx context.Context, id string) (dashboard.Run, error) {
	r, err := d.place.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return opened{r}, nil
}

// opened is a run as the page reads it.
type opened struct{ *client.Run }

// Tail implements dashboard.Log.
func (o opened) Tail(ctx context.Context, from uint64) iter.Seq2[dashboard.Batch, error] {
	return o.At.Tail(ctx, from)
}

// Last implements dashboard.Run.
func (o opened) Last(ctx context.Context) (uint64, error) {
	m, err := o.At.Log().Bus.Last(ctx, bus.RunFilter(o.Name))
	if err != nil || m == nil {
		return 0, err
	}
	return m.Pos, nil
}

// with opens a run for one thing.
func (d *PageRuns) with(ctx context.Context, id string, do func(*client.Run) error) (err error) {
	r, err := d.place.Open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return do(r)
}

// Decisions implements dashboard.Controller.
func (d *PageRuns) Decisions(ctx context.Context, run string) (open []view.Decision, err error) {
	err = d.with(ctx, run, func(r *client.Run) (err error) {
		open, err = r.Decisions(ctx)
		for i := range open {
			for _, p := range open[i].Patches {
				open[i].Files = append(open[i].Files, p.Files...)
			}
		}
		return err
	})
	return open, err
}

// Show implements dashboard.Controller.
func (d *PageRuns) Show(ctx context.Context, q dashboard.Query) (data json.RawMessage, err error) {
	if slices.Contains(d.withheld, q.What) {
		return nil, usage.Errorf("viewers do not see the output of commands and gates")
	}
	err = d.with(ctx, q.Run, func(r *client.Run) (err error) {
		switch q.What {
		case dashboard.ShowReport:
			data, err = r.Report(ctx)
		case dashboard.ShowDiff:
			data, err = r.Diff(ctx, q.Task, q.Attempt, false)
		case dashboard.ShowLog:
			data, err = r.Log(ctx, q.Task, q.Attempt)
		case dashboard.ShowContext:
			var text []byte
			if text, err = r.Context(ctx, q.Task, q.Attempt, client.ContextView{Turn: q.Turn, Text: true}); err == nil {
				data, err = spec.JSON(map[string]string{"text": string(text)})
			}
		}
		return err
	})
	return data, err
}

// Act implements dashboard.Controller.
func (d *PageRuns) Act(ctx context.Context, run, by string, a act.Args) (out dashboard.Outcome, err error) {
	if _, goesOn := a.(act.Resume); goesOn {
		return d.resume(ctx, run, by, "the run goes on")
	}
	var done act.Outcome
	err = d.with(ctx, run, func(r *client.Run) (err error) {
		r.By, r.From = wire.Person(by), d.named(by)
		switch a := a.(type) {
		case act.Retry:
			done, err = conduct.TryAgain(ctx, r, conduct.Retry{Retry: a, Trust: d.trust})
		case act.Publish:
			var result client.Result
			result, err = conduct.Publish(ctx, r)
			done.Text = "published as " + strings.TrimPrefix(result.Ref, "refs/heads/")
		default:
			done, err = r.Act(ctx, a)
		}
		return err
	})
	out.Held = done.Held
	out.Outcome = strings.Join(slices.Concat([]string{done.Text}, done.Changed, done.Notes), "; ")
	if err != nil || !done.Begins {
		return out, err
	}
	return d.resume(ctx, run, by, out.Outcome)
}

// resume has a run continue.
func (d *PageRuns) resume(ctx context.Context, run, by, outcome string) (dashboard.Outcome, error) {
	if err := d.place.resume(ctx, run, by); err != nil {
		return dashboard.Outcome{}, err
	}
	return dashboard.Outcome{Outcome: outcome, Started: true}, nil
}
