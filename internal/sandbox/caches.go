package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Audience is who writes a cache.
type Audience string

// The audiences. What agents can write is never read by gates: a forged cache entry would be a forged test result.
const (
	Agents Audience = "agents"
	Gates  Audience = "gates"
)

// Caches are Divisi's own caches of build tools and package managers, below its state directory. They outlive runs; the
// user's own caches are only ever read.
type Caches struct {
	// Dir is an absolute directory that Divisi owns.
	Dir string
	// Go is what AskGo returned.
	Go Toolchain
}

// Cache is what a command needs to use a cache: for Settings.Vars, Settings.Path and Command.Writable.
type Cache struct {
	Env      map[string]string
	Path     []string
	Writable []string
}

// For makes the cache of an audience and says how to use it.
func (c Caches) For(who Audience) (Cache, error) {
	root := filepath.Join(c.Dir, string(who))
	env := map[string]string{
		"XDG_CACHE_HOME":    filepath.Join(root, "xdg"),
		"npm_config_cache":  filepath.Join(root, "npm"),
		"YARN_CACHE_FOLDER": filepath.Join(root, "yarn"),
		"PIP_CACHE_DIR":     filepath.Join(root, "pip"),
		"CARGO_HOME":        filepath.Join(root, "cargo"),
		"GOCACHE":           filepath.Join(root, "go-build"),
		"GOPATH":            filepath.Join(root, "go"),
		"GOMODCACHE":        filepath.Join(root, "go", "pkg", "mod"),
	}
	for name, dir := range env {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Cache{}, fmt.Errorf("make the cache %s of %s: %w", name, who, err)
		}
	}
	cache := Cache{Env: env, Writable: []string{root}}
	// GOENV=off: what an agent writes with "go env -w" must not reach another command.
	env["GOENV"], env["GOTOOLCHAIN"] = "off", "local"
	env["GOFLAGS"] = c.Go.flags()
	if c.Go.Root != "" {
		cache.Path = []string{filepath.Join(c.Go.Root, "bin")}
		env["GOPROXY"], env["GONOPROXY"] = c.Go.proxy(), "none"
		env["GOSUMDB"], env["GONOSUMDB"] = c.Go.SumDB, c.Go.NoSumDB
	}
	return cache, nil
}

// Seed fills an empty build cache of the agents with what the gates have built, so that the standard library and the
// dependencies are not compiled once more. Trust allows this direction only. It does nothing when there is nothing to copy
// or when the agents have a cache already; call it after the baseline.
func (c Caches) Seed() error {
	from, to := filepath.Join(c.Dir, string(Gates), "go-build"), filepath.Join(c.Dir, string(Agents), "go-build")
	entries, err := os.ReadDir(to)
	if err == nil && len(entries) > 0 {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the agents' build cache: %w", err)
	}
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("make the agents' cache: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), "seed-")
	if err != nil {
		return fmt.Errorf("make room for the agents' build cache: %w", err)
	}
	if err := os.CopyFS(temp, os.DirFS(from)); err != nil {
		return errors.Join(fmt.Errorf("copy the gates' build cache: %w", err), os.RemoveAll(temp))
	}
	// Both fail when somebody filled the place meanwhile; then theirs is as good.
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(temp)
	}
	if err := os.Rename(temp, to); err != nil {
		return os.RemoveAll(temp)
	}
	return nil
}
