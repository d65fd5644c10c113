package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"divisi/orchestrator/baseline"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/sandbox"
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

// sampleCaches is the name of the caches of all samples.
const sampleCaches = "demo"

// baselines keeps what the gates found that run on this machine. host stands for what they find here beside the repository.
func (p *place) baselines(host func() (string, error)) *baseline.Store {
	return &baseline.Store{
		Dir: baseline.Below(p.caches), Cache: filepath.Join(p.caches, string(sandbox.Gates)), Host: host, Clock: now,
	}
}
