// Package shard runs the command of a shard rule (by: command), confined and without network, in a clean tree of a commit. Its
// input is what a run has on this machine and a command, its output what that printed. It reads no shards.
package shard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/subagents/environment"
	"divisi/subagents/workspace"
)

const (
	// timeout bounds a command.
	timeout = 2 * time.Minute
	// worker is by whose name commands that were left running are found: the run's own.
	worker = "local"
)

// Runner has what commands of a run see. All fields are needed.
type Runner struct {
	Run     string
	Created time.Time
	Env     []string // the variables that the project passes
	Environ []string // the environment that they and PATH are taken from
	Git     *git.Git
	Mirror  *git.Repo
	Caches  string
	// Environments have that of the run.
	Environments *environment.Store
	Log          zerolog.Logger
}

// Shards runs a command in a clean tree of a commit, over an environment; "" for none. Its standard output and error are returned
// together; it must print shards only.
func (r *Runner) Shards(ctx context.Context, commit, environment string, command []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "divisi-shards-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() {
		if err := workspace.Remove(dir); err != nil {
			r.Log.Warn().Err(err).Msg("the temporary directory of a shard command was not removed")
		}
	}()
	pool, err := workspace.NewPool(r.Git, r.Mirror, filepath.Join(dir, "slots"), r.Created)
	if err != nil {
		return nil, err
	}
	slot, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Release(slot)
	if err := slot.Reset(ctx, commit); err != nil {
		return nil, err
	}
	refs, err := r.Mirror.Refs()
	if err != nil {
		return nil, err
	}
	c, err := r.command(ctx, environment, sandbox.Place{
		Tree: slot.Dir(), Home: filepath.Join(dir, "home"), Temp: filepath.Join(dir, "tmp"), InitBranch: refs.Init,
	})
	if err != nil {
		return nil, err
	}
	c.Args, c.Readable = command, append(c.Readable, slot.Objects()...)
	out, err := sandbox.Run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", command[0], err)
	}
	if out.ExitCode != 0 || out.TimedOut {
		return nil, fmt.Errorf("%s ended with exit code %d: %s", command[0], out.ExitCode, strings.TrimSpace(out.Text()))
	}
	return []byte(out.Text()), nil
}

// maxShards bounds what a shard command may print, in bytes.
const maxShards = 16 << 20

// command makes the private directories of a place and a command that runs there, without network.
func (r *Runner) command(ctx context.Context, environment string, place sandbox.Place) (sandbox.Command, error) {
	c := sandbox.Command{Dir: place.Tree, Place: place, Timeout: timeout, MaxOutput: maxShards}
	scratch := place.Temp + "-views"
	for _, d := range []string{place.Home, place.Temp, scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return c, fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	toolchain, err := sandbox.AskGo(ctx, r.Environ)
	if err != nil {
		return c, err
	}
	cache, err := sandbox.Caches{Dir: r.Caches, Go: toolchain}.For(sandbox.Agents, place, scratch)
	if err != nil {
		return c, err
	}
	c.Place.Downloads = cache.Downloads
	cache.Env[sandbox.RunVar], cache.Env[sandbox.WorkerVar] = r.Run, worker
	if environment != "" {
		e, err := r.Environments.Open(environment)
		if err != nil {
			return c, err
		}
		c.Place.Tools, c.Place.Stores, c.Place.Layers = e.Tools(), e.Stores(), e.Layers()
	}
	c.Writable, c.Readable = cache.Writable, cache.Readable
	c.Env, err = sandbox.Env(sandbox.Settings{
		Base: r.Environ, Tools: c.Place.Seen().Tools, Path: cache.Path, Home: place.Seen().Home, Temp: place.Seen().Temp,
		Extra: r.Env, Vars: cache.Env, Offline: true,
	})
	return c, err
}
