package door

import (
	"context"
	"io"
	"strings"

	"github.com/rs/zerolog"

	"divisi/internal/release"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/mcpserver"
	"divisi/subagents/wire"
)

// MCPOptions describe a server of the Model Context Protocol for one client, which shows the runs of one place. ServeMCP sets
// Runs, Controller, Person, Version and Logger of its own options.
type MCPOptions struct {
	mcpserver.Options

	// Place has the runs.
	Place client.Runs
	// Begin starts a process that resumes a run of this machine, as that of PageOptions.
	Begin func(ctx context.Context, run string) error
	// Trust decides about the repository of a run that retries tasks, as that of PageOptions.
	Trust func(ctx context.Context, repo string, requests []string) (bool, error)
}

type (
	// MCPPreview is a plan as a run would carry it out.
	MCPPreview = mcpserver.Preview
	// MCPGate is one of its gates.
	MCPGate = mcpserver.Gate
	// MCPQuestionError is what a person must agree to before a client's call is done.
	MCPQuestionError = mcpserver.QuestionError
	// MCPWork is a client's request for a new run.
	MCPWork = mcpserver.Work
)

// ServeMCP serves the client at the other end of in and out until it closes them, or ctx ends. It carries no run out. A client
// that breaks the protocol is a mistake of the caller.
func ServeMCP(ctx context.Context, o MCPOptions, in io.ReadCloser, out io.WriteCloser) error {
	d := NewRuns(o.Place, o.Begin, o.Trust)
	o.Runs, o.Controller, o.Version, o.Logger = d, d, release.Version(), *zerolog.Ctx(ctx)
	o.Person = strings.TrimPrefix(depot.Account(), wire.Person("")+":")
	return mcpserver.New(o.Options).Serve(ctx, in, out)
}
