package sandbox

import (
	"fmt"
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

// Cache is what a command needs to use a cache: for Settings.Vars, Settings.Path, Command.Writable and Command.Readable.
type Cache struct {
	Env                map[string]string
	Path               []string
	Writable, Readable []string
}

// downloaded is where the go command keeps modules as they came, below GOMODCACHE; it can serve as a proxy.
const downloaded = "cache/download"

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
	// Where all slots are shown at one path, results fit in every slot as they are.
	env["GOFLAGS"] = c.Go.flags(who == Gates && !Probe().have(Namespaces))
	if c.Go.Root != "" {
		cache.Path = []string{filepath.Join(c.Go.Root, "bin")}
		downloads := []string{filepath.Join(c.Go.ModCache, downloaded)}
		if who == Agents { // what setup downloaded for gates; agents may have no network
			downloads = append(downloads, filepath.Join(c.Dir, string(Gates), "go", "pkg", "mod", downloaded))
		}
		cache.Readable = append([]string{c.Go.Root}, downloads...)
		env["GOPROXY"], env["GONOPROXY"] = c.Go.proxy(downloads), "none"
		env["GOSUMDB"], env["GONOSUMDB"] = c.Go.SumDB, c.Go.NoSumDB
	}
	return cache, nil
}
