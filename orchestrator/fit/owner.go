package fit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"divisi/configs"
	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
)

// Owner is where the owner of a machine reports what runs may do there: File, or where that is "" the usual one of StateDir.
type Owner struct{ File, StateDir string }

func (o Owner) file() string { return cmp.Or(o.File, filepath.Join(o.StateDir, configs.PolicyFile)) }

// Policy reads it. Where there is none, and none was named, nothing is permitted that one would have to permit.
func (o Owner) Policy() (*spec.Policy, error) {
	p, err := configs.Policy(o.file())
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.File == "":
		return &spec.Policy{}, nil
	case err != nil:
		return nil, usage.Errorf("%v", err)
	}
	return p, nil
}

// Unpermitted lists denials on this machine while its owner has written no policy; "" where that has.
func (o Owner) Unpermitted() string {
	if _, err := os.Stat(o.file()); err == nil {
		return ""
	}
	return fmt.Sprintf("there is no %s: commands of runs have no network, no secrets and none of your variables", o.file())
}

// Strict refuses a machine on which commands are less confined than its owner wants.
func (o Owner) Strict(p *spec.Policy) error {
	err := sandbox.Probe().Strict()
	if err == nil || p.Sandbox == spec.SandboxAvailable {
		return nil
	}
	return usage.Errorf("%v\nA worker does not run commands of others so. Mend that, or permit it with \"sandbox: %s\" in %s",
		err, spec.SandboxAvailable, o.file())
}

// diskMiB bounds the writes of one attempt's commands while the owner sets no bound: more than builds do.
const diskMiB = 20 << 10

// Grants are the resources of a machine with a policy for commands of runs.
func Grants(p *spec.Policy) sandbox.Owner {
	return sandbox.Owner{
		Reach:     append(egress.Reach{}, p.Network...),
		MaxMemory: int64(p.Limits.MemoryMiB) << 20, MaxProcesses: p.Limits.Processes,
		MaxFile: uint64(p.Limits.FileMiB) << 20, MaxDisk: int64(cmp.Or(p.Limits.DiskMiB, diskMiB)) << 20,
	}
}
