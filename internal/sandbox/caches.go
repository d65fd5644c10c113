package sandbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"divisi/internal/machine"
	"divisi/internal/sandbox/stage"
)

// Audience is the writer of a build cache.
type Audience string

// The audiences. What agents can write is never read by gates: a forged cache entry would be a forged test result. The setup
// writes the cache of the gates, and the downloads. Base are the gates on the base commit: they write the cache of the gates too,
// and Gates, those of a patch, what their place has over it or for it. Base and setup fill it from the user's, which so gets no
// request from a command that an agent has made.
const (
	Agents Audience = "agents"
	Gates  Audience = "gates"
	Base   Audience = "base"
	Setup  Audience = "setup"
)

// owner is the audience whose build cache one uses.
func (a Audience) owner() Audience {
	if a == Setup || a == Base {
		return Gates
	}
	return a
}

// Proves reports whether an audience uses the cache of the gates.
func (a Audience) Proves() bool { return a.owner() == Gates }

// Builds makes the build cache of an audience and returns its directory.
func (c Caches) Builds(who Audience) (dir string, err error) {
	dir = c.builds(who)
	if err := makeBuilds(dir); err != nil {
		return "", fmt.Errorf("make the build cache of %s: %w", who, err)
	}
	return dir, nil
}

func (c Caches) builds(who Audience) string { return filepath.Join(c.Dir, string(who.owner())) }

// goBuilds and xdg are the directories of a build cache, of the go command and of other tools.
const (
	goBuilds = "go-build"
	xdg      = "xdg"
)

func makeBuilds(root string) error {
	return makeCache(root, []string{filepath.Join(root, goBuilds), filepath.Join(root, xdg)})
}

// Apart is the audience of a role whose commands have the network or secrets: it shares its build cache with no other.
func Apart(role string, network, secrets bool) Audience {
	who := Agents
	if network {
		who += "-network"
	}
	if secrets {
		who += "-secrets"
	}
	return who + Audience("-"+role)
}

// Caches are Divisi's own caches of build tools and package managers for one repository, below its state directory. They outlive
// runs; the user's own caches are only ever read.
type Caches struct {
	// Dir is an absolute directory that Divisi owns, of this repository alone.
	Dir string
	// Go is the result of AskGo.
	Go Toolchain
	// Lender is the socket of the gocache.Lender of the user's build cache; empty for none.
	Lender string
}

// Search is the search path of commands, before what a project adds to it.
func (c Caches) Search(environ []string) string {
	search := stage.Lookup(environ, "PATH")
	if c.Go.Root != "" {
		search = filepath.Join(c.Go.Root, "bin") + string(filepath.ListSeparator) + search
	}
	return search
}

// Inherits names, for a digest, the settings beside its search path that commands take from an environment.
func (c Caches) Inherits(environ []string) string {
	value, has := stage.Find(environ, zone)
	return fmt.Sprintf(" %s %t %s", c.Go.Choice, has, value)
}

// Cache describes a cache for a command: for Settings.Vars, Settings.Defaults, Settings.Path, Command.Writable, Command.Readable
// and Place.Downloads.
type Cache struct {
	Env, Defaults      map[string]string
	Downloads          DownloadDirs
	Path               []string
	Writable, Readable []string
}

// downloaded is where the go command keeps modules as they came, below GOMODCACHE; it can serve as a proxy.
const downloaded = "cache/download"

// makeCache makes the directories of a cache. A command may have put anything in their place, links that lead out of it too:
// such a cache is removed. One at a time: else a second maker would throw away what the first made again.
func makeCache(root string, dirs []string) error {
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return err
	}
	lock, err := lockFile(root+".lock", false, true) // it lies beside the cache, where no command can write
	if err != nil {
		return err
	}
	defer lock.Close() // and with it the lock
	err = makeBelow(root, dirs)
	if err == nil || transient(err) {
		return err
	}
	ruined := root + "-ruined-" + rand.Text()
	if moved := os.Rename(root, ruined); moved != nil {
		return errors.Join(err, moved)
	}
	_ = os.RemoveAll(ruined) // what cannot be removed does no harm
	return makeBelow(root, dirs)
}

// transient reports whether the cause of an error is the machine, and not what is in a cache.
func transient(err error) bool {
	return machine.Of(err, "") != nil ||
		errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EINTR)
}

// makeBelow makes directories below root, and nothing outside.
func makeBelow(root string, dirs []string) error {
	if err := errors.Join(os.MkdirAll(root, 0o700), os.Chmod(root, 0o700)); err != nil { //nolint:gosec // a directory
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
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
			return err
		}
		if info, err := r.Lstat(part); err != nil || !info.IsDir() {
			return cmp.Or(err, error(syscall.ENOTDIR))
		}
		if err := r.Chmod(part, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// private are the directories below HOME that configure tools: they go with the command. What a tool keeps of its downloads
// in such a directory is a link to them.
var (
	private = map[string]string{
		"CARGO_HOME": ".cargo", "GOPATH": "go", "npm_config_cache": ".npm",
		"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state",
	}
	links = map[string]string{".cargo/registry": "cargo-registry", ".cargo/git": "cargo-git", ".npm/_cacache": "npm"}
)

// For makes the cache of an audience and returns how a command in a place uses it. The place's home must exist and be empty:
// it gets the links that lead to the downloads. What the command writes into its view of them is kept in scratch while it
// runs; without one it only reads them.
func (c Caches) For(who Audience, place Place, scratch string) (Cache, error) {
	return c.at(Probe(), who, place, scratch)
}

func (c Caches) at(l Level, who Audience, place Place, scratch string) (Cache, error) {
	root, downloads := c.builds(who), filepath.Join(c.Dir, "downloads")
	if who == Gates && place.Builds != "" {
		root = place.Builds
	}
	place.Downloads = DownloadDirs{
		Dir: downloads, Modules: filepath.Join(c.Dir, "modules"), Lent: c.Go.ModCache, Scratch: scratch, Fill: who == Setup,
	}
	seen := place.seenAt(l)
	env := map[string]string{
		"XDG_CACHE_HOME": filepath.Join(root, xdg), "GOCACHE": filepath.Join(root, goBuilds),
		"YARN_CACHE_FOLDER": filepath.Join(seen.Downloads.Dir, "yarn"), "PIP_CACHE_DIR": filepath.Join(seen.Downloads.Dir, "pip"),
	}
	kept := []string{filepath.Join(downloads, "yarn"), filepath.Join(downloads, "pip")}
	for _, dir := range links {
		kept = append(kept, filepath.Join(downloads, dir))
	}
	if err := errors.Join(makeBuilds(root), makeCache(downloads, kept), makeCache(place.Downloads.Modules, nil),
		furnish(place, seen)); err != nil {
		return Cache{}, fmt.Errorf("make the caches of %s: %w", who, err)
	}
	for name, dir := range private {
		env[name] = filepath.Join(seen.Home, dir)
	}
	if (who == Base || who == Setup) && l.have(Namespaces) && c.Lender != "" {
		place.Downloads.Lender, place.Downloads.Helper = c.Lender, helper()
	}
	cache := Cache{Env: env, Defaults: stores(seen.Stores), Downloads: place.Downloads}
	if !place.Keeper.holds(root) {
		cache.Writable = []string{root}
	}
	c.forGo(l, who, &cache, seen)
	return cache, nil
}

// furnish makes the links to downloads in a home. What cargo unpacks belongs to an environment, where there is one.
func furnish(place, seen Place) error {
	for link, dir := range links {
		to := filepath.Join(seen.Downloads.Dir, dir)
		if place.Stores != "" && strings.HasPrefix(dir, "cargo") {
			to = filepath.Join(seen.Stores, dir)
			if err := fill(place, dir); err != nil {
				return err
			}
		}
		link = filepath.Join(place.Home, link)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			return err
		}
		if err := os.Symlink(to, link); err != nil {
			return err
		}
	}
	return nil
}

// fill makes a store where the command fills it: a link to nothing cannot be made a directory.
func fill(place Place, dir string) error {
	if !place.Fill {
		return nil
	}
	return os.MkdirAll(filepath.Join(place.Stores, dir), 0o700)
}

// stores direct package managers that keep in a home what later commands need into the stores of an environment. The user's own
// settings win.
func stores(dir string) map[string]string {
	if dir == "" {
		return nil
	}
	maven := "-Dmaven.repo.local=" + filepath.Join(dir, "maven")
	return map[string]string{
		"YARN_GLOBAL_FOLDER": filepath.Join(dir, "yarn"), "COREPACK_HOME": filepath.Join(dir, "corepack"),
		"UV_PYTHON_INSTALL_DIR": filepath.Join(dir, "uv-python"), "POETRY_VIRTUALENVS_IN_PROJECT": "true",
		"GRADLE_USER_HOME": filepath.Join(dir, "gradle"), "MAVEN_ARGS": maven, "MAVEN_OPTS": maven,
	}
}

// forGo adds what Go needs. A view of the modules has the user's too. Without one a command has a module cache of its own, and
// gets modules from the others as from a proxy.
func (c Caches) forGo(l Level, who Audience, cache *Cache, seen Place) {
	env, own := cache.Env, cache.Downloads
	// GOENV=off: what is written with "go env -w" must not reach another command.
	env["GOENV"], env[goToolchain] = "off", cmp.Or(c.Go.Choice, "local")
	// Where all slots are shown at one path, results fit in every slot as they are.
	env[goFlags] = c.Go.flags(who.Proves() && !l.have(Namespaces))
	env["GOMODCACHE"] = seen.Downloads.Modules
	if own.Helper != "" {
		env["GOCACHEPROG"] = seenHelper + " " + seenLender
	}
	if c.Go.Root == "" {
		return
	}
	cache.Path, cache.Readable = []string{filepath.Join(c.Go.Root, "bin")}, []string{c.Go.Root}
	downloads := []string{filepath.Join(seen.Downloads.Modules, downloaded)}
	if own.Fill || own.Scratch == "" || !l.views() {
		downloads = append(downloads, filepath.Join(own.Lent, downloaded))
		cache.Readable = append(cache.Readable, downloads[1])
	}
	if !own.Fill && len(downloads) > 1 {
		env["GOMODCACHE"] = filepath.Join(seen.Home, "go", "pkg", "mod")
	}
	env["GOPROXY"], env["GONOPROXY"] = c.Go.proxy(downloads), "none"
	env["GOSUMDB"], env["GONOSUMDB"] = c.Go.SumDB, c.Go.NoSumDB
}
