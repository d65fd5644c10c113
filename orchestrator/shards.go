package orchestrator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/orchestrator/request"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// shardTimeout bounds the command of a shard rule.
const shardTimeout = 2 * time.Minute

// shards runs the command of a shard rule (by: command), confined, in a clean tree of the commit. Its standard output and
// error are returned together; it must print shards only.
func (h *conduct) shards(ctx context.Context, commit, environment string, command []string) ([]byte, error) {
	if h.ordered && !h.runsCommands {
		return nil, request.Refusedf("a shard rule by: command runs %.80q where the run is conducted, "+
			"and that host runs no commands: shard by file, dir, package or owner, "+
			"or have the host take tasks too", command)
	}
	dir, err := os.MkdirTemp("", "divisi-shards-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() {
		if err := workspace.Remove(dir); err != nil {
			h.log.Warn().Err(err).Msg("the temporary directory of a shard command was not removed")
		}
	}()
	pool, err := workspace.NewPool(h.git, h.mirror, filepath.Join(dir, slotsDir), h.spec.Created)
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
	refs, err := h.mirror.Refs()
	if err != nil {
		return nil, err
	}
	c, err := h.shardCommand(ctx, environment, sandbox.Place{
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

// shardCommand makes the private directories of a place and a command that runs there, without network.
func (h *conduct) shardCommand(ctx context.Context, environment string, place sandbox.Place) (sandbox.Command, error) {
	c := sandbox.Command{Dir: place.Tree, Place: place, Timeout: shardTimeout, MaxOutput: maxShards}
	scratch := place.Temp + "-views"
	for _, d := range []string{place.Home, place.Temp, scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return c, fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	toolchain, err := sandbox.AskGo(ctx)
	if err != nil {
		return c, err
	}
	cache, err := sandbox.Caches{Dir: h.caches, Go: toolchain}.For(sandbox.Agents, place, scratch)
	if err != nil {
		return c, err
	}
	c.Place.Downloads = cache.Downloads
	cache.Env[sandbox.RunVar], cache.Env[sandbox.WorkerVar] = h.spec.Run, worker.LocalName
	if environment != "" {
		e, err := h.environments.Open(environment)
		if err != nil {
			return c, err
		}
		c.Place.Tools, c.Place.Stores, c.Place.Layers = e.Tools(), e.Stores(), e.Layers()
	}
	c.Writable, c.Readable = cache.Writable, cache.Readable
	c.Env, err = sandbox.Env(sandbox.Settings{
		Base: os.Environ(), Tools: c.Place.Seen().Tools, Path: cache.Path, Home: place.Seen().Home, Temp: place.Seen().Temp,
		Extra: h.spec.Project.Env, Vars: cache.Env, Offline: true,
	})
	return c, err
}
