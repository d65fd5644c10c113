package detect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// crate is the relevant part of a Cargo.toml.
type crate struct {
	Package   struct{ Metadata map[string]any }
	Workspace *struct{ Exclude []string }
	Deps      map[string]any `toml:"dependencies"`
	Dev       map[string]any `toml:"dev-dependencies"`
	Build     map[string]any `toml:"build-dependencies"`
}

// crate reads a Cargo.toml; what cannot be understood is as if it were not there.
func (d *detector) crate(dir string) (c crate) {
	if toml.Unmarshal([]byte(d.text(path.Join(dir, "Cargo.toml"))), &c) != nil {
		return crate{}
	}
	return c
}

// fetches reports whether a crate needs others that are not a part of the repository.
func (c *crate) fetches() bool {
	for _, deps := range []map[string]any{c.Deps, c.Dev, c.Build} {
		if slices.ContainsFunc(slices.Collect(maps.Values(deps)), func(dep any) bool {
			table, _ := dep.(map[string]any)
			return table["path"] == nil
		}) {
			return true
		}
	}
	return false
}

// holds reports whether a crate in a directory below is a member, as cargo sees it, unless it begins a workspace of its own.
func (c *crate) holds(at, dir string) bool {
	return c.Workspace != nil && within(dir, at) && !slices.ContainsFunc(c.Workspace.Exclude, func(out string) bool {
		return within(dir, path.Join(at, out))
	})
}

// rust: workspaces and crates that are in none. Fuzz targets are no tests.
func (d *detector) rust() {
	var roots []string
	crates := map[string]crate{}
	for _, file := range d.under("Cargo.toml") {
		dir := path.Dir(file)
		c := d.crate(dir)
		_, fuzz := c.Package.Metadata["cargo-fuzz"]
		member := c.Workspace == nil && slices.ContainsFunc(roots, func(root string) bool {
			above := crates[root]
			return above.holds(root, dir)
		})
		if !fuzz && !member {
			roots, crates[dir] = append(roots, dir), c
		}
	}
	for _, dir := range d.most("Rust crates", roots) {
		c := crates[dir]
		switch {
		case dir != "." && !d.hasTests(dir):
			d.leave("Rust crates", dir, noTests)
		case dir == "." || d.ready("Rust crates", dir, "cargo", !c.fetches()):
			d.cargo(dir)
		}
	}
}

// crateTest matches what marks a test: #[test], that of an asynchronous runtime, or of cases.
var crateTest = lazyregexp.New(`#\[(?:[\w:]+::)?(?:test|rstest|test_case|quickcheck|apply)\b|\b(?:proptest|quickcheck)!`)

// maxSources bounds the files of a crate that are read to find tests.
const maxSources = 100

// hasTests reports whether a crate has tests.
func (d *detector) hasTests(dir string) bool {
	read := 0
	return slices.ContainsFunc(d.files, func(file string) bool {
		if !within(file, dir) || path.Ext(file) != ".rs" || read == maxSources {
			return false
		}
		read++
		return crateTest.MatchString(d.text(file))
	})
}

// cargo adds the gate and the setup of a workspace, or of a crate that is in none.
func (d *detector) cargo(dir string) {
	var at []string
	if dir != "." {
		at = []string{"--manifest-path", path.Join(dir, "Cargo.toml")}
	}
	d.add("cargo-test", dir, spec.Gate{
		Command: slices.Concat([]string{"cargo", "test"}, at, []string{"--workspace", "--no-fail-fast"}), Format: gate.FormatText,
	})
	lock, fetch := path.Join(dir, "Cargo.lock"), "cargo fetch"
	if len(at) > 0 {
		fetch += " --manifest-path " + text.Shell(at[1])
	}
	switch {
	case strings.Contains(d.text(lock), "\nsource = "):
		d.try(".", fetch+" --locked", lock, dir != ".")
	case !d.known[lock] && slices.ContainsFunc(d.under("Cargo.toml"), func(file string) bool {
		root, c := d.crate(dir), d.crate(path.Dir(file))
		return path.Dir(file) == dir && strings.Contains(d.text(file), "dependencies") ||
			c.Workspace == nil && root.holds(dir, path.Dir(file)) && c.fetches()
	}):
		d.try(".", fetch, path.Join(dir, "Cargo.toml"), dir != ".")
	}
}
