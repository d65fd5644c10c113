package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// maxReadFile bounds, in bytes, a file that an environment depends on.
const maxReadFile = 64 << 20

// open opens the environment of the assignment. One that was removed or damaged meanwhile is made again, from the base commit. A
// machine that is not the conductor's makes its own: with other programs or settings it is another one, as its receipts say.
func (at *attempt) open(ctx context.Context) error {
	id := at.assignment.Environment
	if id == "" {
		return nil
	}
	e, err := at.worker.cfg.Environments.Open(at.worker.own.of(id))
	var damaged *environment.DamagedError
	if errors.Is(err, environment.ErrNone) || errors.As(err, &damaged) {
		elsewhere := at.worker.cfg.Fetch != nil
		if elsewhere && damaged == nil {
			at.log.Info().Str("environment", id).Msg("the environment of the run is made on this machine")
		} else {
			at.log.Warn().Err(err).Msg("the environment of the run is made again")
		}
		switch e, err = at.makeAgain(ctx); {
		case err != nil || e.ID == id:
		case elsewhere:
			at.worker.own.made(id, e.ID)
		default:
			err = &wire.RefusedError{Err: fmt.Errorf("environment %s is gone, and setup makes another one now, %s, because a "+
				"program or a setting has changed: start a new run", id, e.ID)}
		}
	}
	if err != nil {
		return err
	}
	at.lie(e)
	return nil
}

// ownEnvironments are the environments that setup makes of a run's on this machine, by those of the run.
type ownEnvironments struct {
	mu sync.Mutex
	by map[string]string
}

func (o *ownEnvironments) of(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.by[id], id)
}

func (o *ownEnvironments) made(id, own string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string]string{}
	}
	o.by[id] = own
}

// unmadeError carries the result of a setup that failed.
type unmadeError struct{ result spec.Result }

func (e *unmadeError) Error() string { return e.result.Error.Message }

// makeAgain runs the setup of the run as its first attempt did: on the base commit, in a slot of its own.
func (at *attempt) makeAgain(ctx context.Context) (*environment.Environment, error) {
	a := *at.assignment
	a.Setup, a.Head, a.Base = a.Project.Setup.Command, at.worker.cfg.Mirror.Base(), true
	a.Environment, a.Patch, a.Start = "", nil, nil
	a.Role.Executor = ""
	if len(a.Setup) == 0 {
		return nil, &wire.RefusedError{Err: fmt.Errorf("environment %s is gone: start a new run", at.assignment.Environment)}
	}
	maker := &attempt{worker: at.worker, assignment: &a, journal: at.journal, progress: at.progress, log: at.log}
	release, err := maker.prepare(ctx)
	defer release()
	if err != nil {
		return nil, err
	}
	e, bad, err := maker.tester().Setup(ctx)
	if bad != nil {
		err = &unmadeError{*bad}
	}
	return e, err
}

func (at *attempt) lie(e *environment.Environment) {
	at.under, at.toolsDir, at.storesDir = e, e.Tools(), e.Stores()
}

// Fill implements tester.Places.
func (at *attempt) Fill(m *environment.Making) {
	at.toolsDir, at.storesDir = m.Tools(), m.Stores()
}

// Lay implements tester.Places.
func (at *attempt) Lay(ctx context.Context, e *environment.Environment) error {
	at.lie(e)
	return at.lay(ctx)
}

// Clean implements tester.Places.
func (at *attempt) Clean(ctx context.Context) error { return at.slot.Reset(ctx, at.commit) }

// Ignored implements tester.Places.
func (at *attempt) Ignored(ctx context.Context) (ignored, gone []string, err error) {
	return at.slot.Ignored(ctx, at.commit)
}

// read returns the content of a file of the attempt's commit.
func (at *attempt) read(ctx context.Context, path string) ([]byte, error) {
	return at.worker.cfg.Mirror.ReadFile(ctx, at.commit, path, maxReadFile)
}

// readAt returns the content of a file of a commit; nil where that has none.
func (at *attempt) readAt(ctx context.Context, commit, path string) ([]byte, error) {
	data, err := at.worker.cfg.Mirror.ReadFile(ctx, commit, path, maxReadFile)
	if errors.Is(err, git.ErrNotFound) {
		return nil, nil
	}
	return data, err
}

// digest names what the gates of the project run in: the environment, the programs that they can call, and how they are confined.
func (at *attempt) digest() (string, error) {
	w := at.worker
	commands := make([][]string, 0, len(at.assignment.Project.Gates))
	for _, g := range at.assignment.Project.Gates {
		commands = append(commands, g.Command)
	}
	level := fmt.Sprint(sandbox.Probe().Name(), at.assignment.Role.Network, at.assignment.Role.Loopback, w.cfg.Pool.World()) +
		w.cfg.Caches.Inherits(w.cfg.Environ)
	search, beside := w.cfg.Caches.Search(w.cfg.Environ), w.cfg.Checkout.Digest()
	return w.cfg.Environments.Digest(at.under, at.assignment.Project.Derived, search, level, beside, commands...)
}

// environment makes what commands see, in the cache of those who run them: what agents can write, gates never read. Home and
// temporary directory are new: what an earlier command left there configures no later one.
func (at *attempt) environment(audience sandbox.Audience) error {
	w, a := at.worker, at.assignment
	if err := at.lookAhead(audience); err != nil {
		return err
	}
	scratch := filepath.Join(at.private, "views")
	for _, dir := range []string{at.home(), at.temp(), scratch} {
		err := workspace.Remove(dir)
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if err != nil {
			return fmt.Errorf("make a private directory: %w", err)
		}
	}
	at.cache, at.fill = sandbox.Cache{}, audience == sandbox.Setup
	cache, err := w.cfg.Caches.For(audience, at.ground(), scratch)
	if err != nil {
		return err
	}
	vars := maps.Clone(cache.Env)
	vars[sandbox.RunVar], vars[sandbox.WorkerVar] = a.Run, w.cfg.Name
	if a.Task.ID != "" {
		vars[sandbox.TaskVar] = a.Task.ID
	}
	at.cache, at.readable = cache, cache.Readable
	seen := at.ground().Seen()
	at.env, err = sandbox.Env(sandbox.Settings{
		Base: w.cfg.Environ, Tools: seen.Tools, Path: cache.Path, Home: seen.Home, Temp: seen.Temp, Defaults: cache.Defaults,
		Extra: a.Project.Env, Vars: vars, Offline: audience != sandbox.Setup && !a.Role.Network,
	})
	if err != nil {
		return &wire.RefusedError{Err: err}
	}
	if at.slot != nil {
		at.readable = append(at.readable, at.slot.Objects()...)
	}
	return nil
}
