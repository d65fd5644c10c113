package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/contextscope/artifact"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/store"
	"divisi/subagents/environment"
	"divisi/subagents/workspace"
)

const (
	// cacheLife is how long caches stay that no run uses.
	cacheLife = 30 * 24 * time.Hour
	// removeTime bounds how long the end of a run waits until its work trees are removed; the next run removes the rest.
	removeTime = 2 * time.Second
	// slotsDir has the work trees of a run, in its directory.
	slotsDir = "slots"
)

// place is what a half of a run has of a state directory, which other processes, and the other half, share: the caches of a
// repository, with its environments, and the trash.
type place struct {
	dir          store.Dir
	log          zerolog.Logger
	caches       string
	environments *environment.Store
	trash        *workspace.Trash
}

// findCaches finds the directory of a repository's caches. Each sample is another repository, and all have the same caches.
func (h *conduct) findCaches(sample bool) error {
	id, err := h.checkout.Identity()
	if sample {
		id = sampleCaches
	}
	h.find(id)
	return err
}

// find finds the caches of a name.
func (p *place) find(caches string) {
	p.caches = filepath.Join(p.dir.Caches(), caches)
	p.environments = environment.NewStore(environment.Below(p.caches), func(dir string) error { return p.trash.Put(dir) }, now)
}

// keep holds the caches of the run, and begins to remove what earlier runs left in the trash, and caches and environments that
// none has used for long. Their release waits for a moment until what is in the trash by then is removed.
func (p *place) keep(notice func(string)) (release func(), err error) {
	unlock, err := sandbox.LockCaches(p.caches)
	if err != nil {
		return nil, err
	}
	if p.trash, err = workspace.OpenTrash(p.dir.Trash(), p.log); err != nil {
		unlock()
		return nil, err
	}
	drop := func(dir string) error {
		p.log.Info().Str("caches", dir).Msg("caches that no run has used for 30 days are removed")
		return p.trash.Put(dir)
	}
	if err := sandbox.DropCaches(p.dir.Caches(), now().Add(-cacheLife), drop); err != nil {
		p.log.Warn().Err(err).Msg("old caches were left")
	}
	if err := p.environments.Sweep(now().Add(-cacheLife)); err != nil {
		p.log.Warn().Err(err).Msg("old environments were left")
	}
	if err := p.sweepKilled(); err != nil {
		p.log.Warn().Err(err).Msg("work trees of killed runs were left")
	}
	return func() {
		p.environments.Close()
		unlock()
		if !p.trash.Close(removeTime, func() { notice("removing work trees…") }) {
			notice(fmt.Sprintf("The next run removes the rest of the work trees, in %s", p.dir.Trash()))
		}
	}, nil
}

// sweep removes what only this process needed: the slots, which can be large, and private directories.
func (w *work) sweep() {
	for _, name := range []string{slotsDir, "tmp"} {
		if err := w.trash.Put(filepath.Join(w.path, name)); err != nil {
			w.log.Warn().Err(err).Msg("work trees were left behind")
		}
	}
}

// sweepKilled removes the work trees of runs with a store of their own that no process holds: one that was killed left them.
func (p *place) sweepKilled() error {
	ids, err := p.dir.IDs()
	for _, id := range ids {
		_, slots := os.Stat(filepath.Join(p.dir.Run(id), slotsDir))
		_, own := os.Stat(filepath.Join(p.dir.Bus(id), "jetstream"))
		if slots != nil || own != nil || bus.Locked(p.dir.Bus(id)) {
			continue
		}
		release, lerr := bus.Lock(p.dir.Bus(id))
		if lerr == nil {
			lerr = errors.Join(p.trash.Put(filepath.Join(p.dir.Run(id), slotsDir)),
				p.trash.Put(filepath.Join(p.dir.Run(id), "tmp")), release())
		}
		err = errors.Join(err, lerr)
	}
	return err
}

// gateHost stands for what the gates of the run find on this machine beside the repository: their programs, the variables that
// they see, how they are confined, and what trees have of the checkout beside the files that git stores.
func (h *conduct) gateHost() (string, error) {
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
