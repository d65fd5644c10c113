// Package depot keeps resources of a machine for later runs, and lends them to other machines: caches, environments, mirrors,
// submodules, the limits of model services, its keys, and how it logs in to a server. Its input are a state directory, and what a
// run needs; its output are places, packs and sealed content. It reads and writes no log of a run.
package depot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/sandbox"
	"divisi/orchestrator/baseline"
	"divisi/orchestrator/store"
	"divisi/subagents/environment"
	"divisi/subagents/workspace"
)

const (
	// cacheLife is how long caches stay that no run uses.
	cacheLife = 30 * 24 * time.Hour
	// removeTime bounds how long the end of a run waits until its work trees are removed; the next run removes the rest.
	removeTime = 2 * time.Second
	// SlotsDir has the work trees of a run, in its directory.
	SlotsDir = "slots"
)

// Place is the view of one half on a state directory, which other processes, and the other half, share: the caches of a
// repository, with its environments, and the trash.
type Place struct {
	Dir          store.Dir
	Log          zerolog.Logger
	Caches       string
	Environments *environment.Store
	Trash        *workspace.Trash
}

// Find finds the caches of a name.
func (p *Place) Find(caches string) {
	p.Caches = filepath.Join(p.Dir.Caches(), caches)
	p.Environments = environment.NewStore(environment.Below(p.Caches), func(dir string) error { return p.Trash.Put(dir) }, Now)
}

// Keep holds the caches of the run, and begins to remove what earlier runs left in the trash, and caches and environments that
// none has used for long. Their release waits for a moment until what is in the trash by then is removed.
func (p *Place) Keep(notice func(string)) (release func(), err error) {
	unlock, err := sandbox.LockCaches(p.Caches)
	if err != nil {
		return nil, err
	}
	if p.Trash, err = workspace.OpenTrash(p.Dir.Trash(), p.Log); err != nil {
		unlock()
		return nil, err
	}
	drop := func(dir string) error {
		p.Log.Info().Str("caches", dir).Msg("caches that no run has used for 30 days are removed")
		return p.Trash.Put(dir)
	}
	if err := sandbox.DropCaches(p.Dir.Caches(), Now().Add(-cacheLife), drop); err != nil {
		p.Log.Warn().Err(err).Msg("old caches were left")
	}
	if err := p.Environments.Sweep(Now().Add(-cacheLife)); err != nil {
		p.Log.Warn().Err(err).Msg("old environments were left")
	}
	if err := p.sweepKilled(); err != nil {
		p.Log.Warn().Err(err).Msg("work trees of killed runs were left")
	}
	return func() {
		p.Environments.Close()
		unlock()
		if !p.Trash.Close(removeTime, func() { notice("removing work trees…") }) {
			notice(fmt.Sprintf("The next run removes the rest of the work trees, in %s", p.Dir.Trash()))
		}
	}, nil
}

// sweepKilled removes the work trees of runs with a store of their own that no process holds: one that was killed left them.
func (p *Place) sweepKilled() error {
	ids, err := p.Dir.IDs()
	for _, id := range ids {
		_, slots := os.Stat(filepath.Join(p.Dir.Run(id), SlotsDir))
		_, own := os.Stat(filepath.Join(p.Dir.Bus(id), "jetstream"))
		if slots != nil || own != nil || bus.Locked(p.Dir.Bus(id)) {
			continue
		}
		release, lerr := bus.Lock(p.Dir.Bus(id))
		if lerr == nil {
			lerr = errors.Join(p.Trash.Put(filepath.Join(p.Dir.Run(id), SlotsDir)),
				p.Trash.Put(filepath.Join(p.Dir.Run(id), "tmp")), release())
		}
		err = errors.Join(err, lerr)
	}
	return err
}

// SampleCaches is the name of the caches of all samples.
const SampleCaches = "demo"

// Baselines keeps what the gates found that run on this machine. host stands for what they find here beside the repository.
func (p *Place) Baselines(host func() (string, error)) *baseline.Store {
	return &baseline.Store{
		Dir: baseline.Below(p.Caches), Cache: filepath.Join(p.Caches, string(sandbox.Gates)), Host: host, Clock: Now,
	}
}

// GateTimes returns how long each gate took on the base commit that was tried last, by name.
func GateTimes(caches string) map[string]time.Duration { return baseline.Took(baseline.Below(caches)) }
