package door

import (
	"context"
	"io"
	"strings"

	"github.com/rs/zerolog"

	"divisi/internal/release"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/mcpserver"
	"divisi/subagents/wire"
)

// MCPOptions describe a server of the Model Context Protocol for one client, which shows the runs of one place.
type MCPOptions struct {
	// Repo is the top of the repository whose roles the client is shown, StateDir where the runs are kept.
	Repo, StateDir string
	Runs           client.Runs
	// Acts allows the client to start runs, and to act on them, for the person whose account this process has.
	Acts bool
	// ToAct is the command of a server that acts.
	ToAct string
	// Begin starts a process that resumes a run of this machine, as that of PageOptions. Preview expands a plan file, and Start
	// starts a process that begins a run, and returns its id. The error is why it did not begin. They are called from many
	// goroutines.
	Begin   func(ctx context.Context, run string) error
	Preview func(ctx context.Context, plan string) (MCPPreview, error)
	Start   func(ctx context.Context, w MCPWork) (run string, err error)
	// Trust decides about the repository of a run that retries tasks, as that of PageOptions.
	Trust func(ctx context.Context, repo string, requests []string) (bool, error)
	// Words are an error as the client reads it, and Calls is a text whose commands find the same runs.
	Words func(error) string
	Calls func(string) string
}

// MCPPreview is a plan as Preview returns it, with notes about it, what the repository's files request beyond confined commands
// without network, and whether a person agreed to that.
type MCPPreview struct {
	conduct.Previewed

	Notes    []string
	Requests []string
	Trusted  bool
}

// MCPWork is what a client asks a new run to do: a plan file, or a goal for a master that plans. Zero numbers are the project's.
type MCPWork struct {
	Plan, Goal, Base string
	Budget, Parallel int
}

// ServeMCP serves the client at the other end of in and out until it closes them, or ctx ends. It carries no run out. A client
// that breaks the protocol is a mistake of the caller.
func ServeMCP(ctx context.Context, o MCPOptions, in io.ReadCloser, out io.WriteCloser) error {
	begin := func(ctx context.Context, run, _ string) error { return o.Begin(ctx, run) }
	d := &PageRuns{Runs: o.Runs, Begin: begin, trust: o.Trust, Kept: map[string]dashboard.Standing{}}
	s := mcpserver.New(mcpserver.Options{
		Repo: o.Repo, StateDir: o.StateDir, Runs: d, Controller: d, Acts: o.Acts, ToAct: o.ToAct,
		Person: strings.TrimPrefix(depot.Account(), wire.Person("")+":"),
		Words:  o.Words, Calls: o.Calls, Version: release.Version(), Logger: *zerolog.Ctx(ctx),
		Preview: func(ctx context.Context, plan string) (mcpserver.Preview, error) {
			p, err := o.Preview(ctx, plan)
			out := mcpserver.Preview{
				Plan: p.Plan, Notes: p.Notes, Requests: p.Requests, Trusted: p.Trusted, Detected: p.Detected, Setup: p.Setup,
			}
			for _, g := range p.Gates {
				out.Gates = append(out.Gates, mcpserver.Gate{Gate: g.Name, Command: g.Command})
			}
			for _, why := range p.Refused {
				out.Refused = append(out.Refused, o.Words(why))
			}
			return out, err
		},
		Start: func(ctx context.Context, w mcpserver.Work) (string, error) { return o.Start(ctx, MCPWork(w)) },
	})
	return s.Serve(ctx, in, out)
}
