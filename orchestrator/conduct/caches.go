package conduct

import (
	"os"
	"runtime"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
)

// findCaches finds the directory of a repository's caches. Each sample is another repository, and all have the same caches.
func (h *Half) findCaches(sample bool) error {
	id, err := h.Checkout.Identity()
	if sample {
		id = depot.SampleCaches
	}
	h.Find(id)
	return err
}

// gateHost stands for what the gates of the run find on this machine beside the repository: their programs, the variables that
// they see, how they are confined, and what trees have of the checkout beside the files that git stores.
func (h *Half) gateHost() (string, error) {
	commands := make([][]string, 0, len(h.Spec.Project.Gates))
	for _, g := range h.Spec.Project.Gates {
		commands = append(commands, g.Command)
	}
	search := os.Getenv("PATH")
	programs, err := h.Environments.Programs(search, commands...)
	if err != nil {
		return "", err
	}
	env := []string{search}
	for _, name := range h.Spec.Project.Env {
		env = append(env, name+"="+os.Getenv(name))
	}
	tester := h.Spec.Roles[spec.RoleTester] // the gates have its network
	return spec.JSONText([]any{
		programs, env, runtime.GOOS, runtime.GOARCH, sandbox.Probe().String(), h.Beside.Digest(), tester.Network, tester.Loopback,
	}), nil
}
