package orchestrator

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"divisi/contextscope/artifact"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/workspace"
)

const (
	// cacheLife is how long caches stay that no run uses.
	cacheLife = 30 * 24 * time.Hour
	// removeTime bounds how long the end of a run waits until its work trees are removed; the next run removes the rest.
	removeTime = 2 * time.Second
)

// findCaches finds the directory of a repository's caches. Each sample is another repository, and all have the same caches.
func (h *holder) findCaches(sample bool) error {
	id, err := h.checkout.Identity()
	if sample {
		id = "demo"
	}
	h.caches = filepath.Join(h.dir.Caches(), id)
	h.environments = environment.NewStore(environment.Below(h.caches), func(dir string) error { return h.trash.Put(dir) }, now)
	return err
}

// keep holds the caches of the run, and begins to remove what earlier runs left in the trash, and caches and environments that
// none has used for long. Their release waits for a moment until what is in the trash by then is removed.
func (h *holder) keep() error {
	unlock, err := sandbox.LockCaches(h.caches)
	if err != nil {
		return err
	}
	if h.trash, err = workspace.OpenTrash(h.dir.Trash(), h.log); err != nil {
		unlock()
		return err
	}
	drop := func(dir string) error {
		h.log.Info().Str("caches", dir).Msg("caches that no run has used for 30 days are removed")
		return h.trash.Put(dir)
	}
	if err := sandbox.DropCaches(h.dir.Caches(), now().Add(-cacheLife), drop); err != nil {
		h.log.Warn().Err(err).Msg("old caches were left")
	}
	if err := h.environments.Sweep(now().Add(-cacheLife)); err != nil {
		h.log.Warn().Err(err).Msg("old environments were left")
	}
	h.later(func() {
		h.environments.Close()
		unlock()
		if !h.trash.Close(removeTime, func() { h.notice("removing work trees…") }) {
			h.notice(fmt.Sprintf("The next run removes the rest of the work trees, in %s", h.dir.Trash()))
		}
	})
	return nil
}

// gateHost stands for what the gates of the run find on this machine beside the repository: their programs, the variables that
// they see, how they are confined, and what trees have of the checkout beside the files that git stores.
func (h *holder) gateHost() (string, error) {
	commands := make([][]string, 0, len(h.spec.Project.Gates))
	for _, g := range h.spec.Project.Gates {
		commands = append(commands, g.Command)
	}
	search := os.Getenv("PATH")
	programs, err := h.environments.Programs(search, commands...)
	if err != nil {
		return "", err
	}
	env := []string{search}
	for _, name := range h.spec.Project.Env {
		env = append(env, name+"="+os.Getenv(name))
	}
	tester := h.spec.Roles[spec.RoleTester] // the gates have its network
	return artifact.Digest([]byte(spec.JSONText([]any{
		programs, env, runtime.GOOS, runtime.GOARCH, sandbox.Probe().String(), h.beside.Digest(), tester.Network, tester.Loopback,
	}))), nil
}
