package orchestrator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"divisi/configs"
	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/fit"
	"divisi/subagents/wire"
)

// policyFile is where the owner of the machine says what runs may do there.
func (o *WorkerOptions) policyFile() string {
	if o.Policy != "" {
		return o.Policy
	}
	return filepath.Join(o.StateDir, configs.PolicyFile)
}

// policy reads that file. Where there is none, and none was named, nothing is permitted that one would have to permit.
func (o *WorkerOptions) policy() (*spec.Policy, error) {
	p, err := configs.Policy(o.policyFile())
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Policy == "":
		return &spec.Policy{}, nil
	case err != nil:
		return nil, usage.Errorf("%v", err)
	}
	return p, nil
}

// unpermitted is what runs do not have on this machine as its owner has written nothing; "" where that has.
func (o *WorkerOptions) unpermitted() string {
	if _, err := os.Stat(o.policyFile()); err == nil {
		return ""
	}
	return fmt.Sprintf("there is no %s: commands of runs have no network, no secrets and none of your variables", o.policyFile())
}

// strict refuses a machine on which commands are less confined than its owner wants.
func (o *WorkerOptions) strict(p *spec.Policy) error {
	err := sandbox.Probe().Strict()
	if err == nil || p.Sandbox == spec.SandboxAvailable {
		return nil
	}
	return usage.Errorf("%v\nA worker does not run commands of others so. Mend that, or permit it with \"sandbox: %s\" in %s",
		err, spec.SandboxAvailable, o.policyFile())
}

// diskMiB is what the commands of one attempt may write where the owner says nothing: more than builds do.
const diskMiB = 20 << 10

// grants is what commands of runs have of the machine.
func (w *Worker) grants() sandbox.Owner {
	return sandbox.Owner{
		Reach:     append(egress.Reach{}, w.policy.Network...),
		MaxMemory: int64(w.policy.Limits.MemoryMiB) << 20, MaxProcesses: w.policy.Limits.Processes,
		MaxFile: uint64(w.policy.Limits.FileMiB) << 20, MaxDisk: int64(cmp.Or(w.policy.Limits.DiskMiB, diskMiB)) << 20,
	}
}

// accepts refuses an assignment that asks for more than its run, or than the owner of the machine permits.
func (w *work) accepts(a *wire.Assignment) error {
	if more := fit.Beyond(w.setup, a); len(more) > 0 {
		return fmt.Errorf("it asks for what the run does not: %s", strings.Join(more, "; "))
	}
	if lacks := fit.Denied(w.engaged.worker.policy, w.setup.Name, &a.Project, &a.Role); len(lacks) > 0 {
		return fmt.Errorf("it lacks %s", strings.Join(lacks, ", "))
	}
	return nil
}
