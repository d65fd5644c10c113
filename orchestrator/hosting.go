package orchestrator

import (
	"context"

	"divisi/orchestrator/act"
	"divisi/subagents/wire"
)

// hosting is what a host knows of a run that it conducts for another machine. The zero value is for none.
type hosting struct {
	held    func() error // Config.Held of the conductor
	members bool         // Config.Members of it
	// runsCommands reports whether this machine runs commands for a run that was submitted.
	runsCommands bool
	// admits returns why the person who signed a run may not have it conducted; nil for all.
	admits func(*wire.Warrant) error
	// asked is told what the run was asked, and by whom; nil for no one.
	asked func(by string, q *act.Request, err error)
}

// Resume goes on with a run, as Start does. Its state is computed from its log.
func Resume(ctx context.Context, o ResumeOptions) (*Run, error) { return resume(ctx, &o, hosting{}) }
