package sandbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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

// Cache is what a command needs to use a cache: for Settings.Vars, Settings.Path, Command.Writable and Command.Readable.
type Cache struct {
	Env                map[string]string
	Path               []string
	Writable, Readable []string
}

// downloaded is where the go command keeps modules as they came, below GOMODCACHE; it can serve as a proxy.
const downloaded = "cache/download"

// makeCache makes the directories of a cache. A command may have put anything in their place, links that lead out of it too:
// such a cache is thrown away, as far as it can be. One at a time: else a second maker would throw away what the first made anew.
func makeCache(root string, dirs []string) error {
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return err
	}
	unlock, err := lockCache(root)
	if err != nil {
		return err
	}
	defer unlock()
	err = makeBelow(root, dirs)
	if err == nil || transient(err) {
		return err
	}
	ruined := root + "-ruined-" + rand.Text()
	if moved := os.Rename(root, ruined); moved != nil {
		return errors.Join(err, moved)
	}
	_ = os.RemoveAll(ruined) // what cannot be removed is in nobody's way
	return makeBelow(root, dirs)
}

// transient says that an error tells of the machine, and nothing of what lies in a cache.
func transient(err error) bool {
	machine := []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EINTR,
	}
	return slices.ContainsFunc(machine, func(e error) bool { return errors.Is(err, e) })
}

// makeBelow makes directories below root, and nothing outside.
func makeBelow(root string, dirs []string) error {
	if err := errors.Join(os.MkdirAll(root, 0o700), os.Chmod(root, 0o700)); err != nil { //nolint:gosec // a directory
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	defer r.Close() // a handle
	for _, dir := range dirs {
		below, err := filepath.Rel(root, dir)
		if err == nil {
			err = makeOpen(r, below)
		}
		if err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	return nil
}

// makeOpen makes a directory and those above it, and lets their owner into them.
func makeOpen(r *os.Root, dir string) error {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != filepath.Separator {
			continue
		}
		part := dir[:i]
		if err := r.MkdirAll(part, 0o700); err != nil {
			return err //nolint:wrapcheck // the caller names it
		}
		if info, err := r.Lstat(part); err != nil || !info.IsDir() {
			return cmp.Or(err, error(syscall.ENOTDIR))
		}
		if err := r.Chmod(part, 0o700); err != nil {
			return err //nolint:wrapcheck // the caller names it
		}
	}
	return nil
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
	if err := makeCache(root, slices.Sorted(maps.Values(env))); err != nil {
		return Cache{}, fmt.Errorf("make the caches of %s: %w", who, err)
	}
	cache := Cache{Env: env, Writable: []string{root}}
	// GOENV=off: what an agent writes with "go env -w" must not reach another command.
	env["GOENV"], env["GOTOOLCHAIN"] = "off", "local"
	// Where all slots are shown at one path, results fit in every slot as they are.
	env["GOFLAGS"] = c.Go.flags(who == Gates && !Probe().have(Namespaces))
	if c.Go.Root != "" {
		cache.Path = []string{filepath.Join(c.Go.Root, "bin")}
		downloads := []string{filepath.Join(c.Go.ModCache, downloaded)}
		cache.Readable = append([]string{c.Go.Root}, downloads...)
		if who == Agents { // what setup downloaded for gates; agents may have no network
			gates := filepath.Join(c.Dir, string(Gates))
			downloads = append(downloads, filepath.Join(gates, "go", "pkg", "mod", downloaded))
			// The top of it: what lies below, gates can replace by a link to anywhere.
			cache.Readable = append(cache.Readable, gates)
		}
		env["GOPROXY"], env["GONOPROXY"] = c.Go.proxy(downloads), "none"
		env["GOSUMDB"], env["GONOSUMDB"] = c.Go.SumDB, c.Go.NoSumDB
	}
	return cache, nil
}
