package conduct

import (
	"context"

	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/subagents/wire"
)

// Hosting is a host's knowledge of a run that it conducts for another machine. The zero value is for none.
type Hosting struct {
	Held   func() error                // Config.Held of the conductor
	Caller func(subject string) string // Config.Caller of it
	// RunsCommands reports whether this machine runs commands for a run that was submitted.
	RunsCommands bool
	// Admits returns why the person who signed a run may not have it conducted; nil for all.
	Admits func(*wire.Warrant) error
	// Asked is told what the run was asked, and by whom; nil for no one.
	Asked func(by string, q *act.Request, err error)
}

// Resume continues a run, as Start does. Its state is computed from its log.
func Resume(ctx context.Context, o ResumeOptions) (*client.Run, error) {
	return ResumeHosted(ctx, &o, Hosting{})
}
