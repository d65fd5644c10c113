package station

import (
	"context"
	"fmt"
	"strings"

	"divisi/internal/git"
	"divisi/orchestrator/fit"
	"divisi/subagents/wire"
)

// owner reports what runs may do on the machine.
func (o *WorkerOptions) owner() fit.Owner { return fit.Owner{File: o.Policy, StateDir: o.StateDir} }

// accepts refuses an assignment that asks for more than its run, or than the owner of the machine permits.
func (w apart) accepts(a *wire.Assignment) error {
	if more := fit.Beyond(w.Setup, a); len(more) > 0 {
		return fmt.Errorf("it asks for more than the run: %s", strings.Join(more, "; "))
	}
	if lacks := fit.Denied(w.worker.policy, w.Setup.Name, &a.Project, &a.Role); len(lacks) > 0 {
		return fmt.Errorf("it lacks %s", strings.Join(lacks, ", "))
	}
	return nil
}

// CanWork returns why a worker cannot begin on this machine, or must not as its owner has it: git, the policy, confinement.
func CanWork(ctx context.Context, o WorkerOptions) error {
	_, err := git.New(ctx)
	if err != nil {
		return err
	}
	p, err := o.owner().Policy()
	if err != nil {
		return err
	}
	return o.owner().Strict(p)
}
