package detect

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// manifest is the relevant part of a package.json; what has another type than expected is as if it were not there.
type manifest struct {
	Name    string            `json:"name"`
	Manager string            `json:"packageManager"`
	Scripts map[string]string `json:"scripts"`
	Deps    map[string]string `json:"dependencies"`
	Dev     map[string]string `json:"devDependencies"`
	Opt     map[string]string `json:"optionalDependencies"`
	Peer    map[string]string `json:"peerDependencies"`
	Spaces  any               `json:"workspaces"`
	Main    any               `json:"main"`
	Module  any               `json:"module"`
	Types   any               `json:"types"`
	Bin     any               `json:"bin"`
	Exports any               `json:"exports"`
}

func (d *detector) manifest(file string) (m manifest, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(strings.TrimPrefix(d.text(file), "\ufeff")), &fields) != nil || fields == nil {
		return m, false
	}
	for name, to := range map[string]any{
		"name": &m.Name, "packageManager": &m.Manager, "scripts": &m.Scripts, "dependencies": &m.Deps,
		"devDependencies": &m.Dev, "optionalDependencies": &m.Opt, "peerDependencies": &m.Peer, "workspaces": &m.Spaces,
		"main": &m.Main, "module": &m.Module, "types": &m.Types, "bin": &m.Bin, "exports": &m.Exports,
	} {
		if raw := fields[name]; raw != nil && json.Unmarshal(raw, to) != nil {
			continue // a field of another type says nothing
		}
	}
	return m, true
}

// test is the package's own test script, unless it is the one that npm init writes.
func (m *manifest) test() string {
	script := strings.TrimSpace(m.Scripts["test"])
	if strings.Contains(script, "no test specified") {
		return ""
	}
	return script
}

// manager is a package manager for JavaScript.
type manager struct {
	name, lock string
	berry      bool // yarn from version 2 on
}

// lockFiles are the lock files of the managers; the first that is there decides.
var lockFiles = []manager{
	{name: "pnpm", lock: "pnpm-lock.yaml"},
	{name: "yarn", lock: "yarn.lock"},
	{name: "bun", lock: "bun.lock"},
	{name: "bun", lock: "bun.lockb"},
	{name: "npm", lock: "package-lock.json"},
	{name: "npm", lock: "npm-shrinkwrap.json"},
}

// managerOf is the manager of a package's directory.
func (d *detector) managerOf(dir string, m *manifest) manager {
	found := manager{name: "npm"}
	for _, l := range lockFiles {
		if d.known[path.Join(dir, l.lock)] {
			found = l
			break
		}
	}
	if name, _, named := strings.Cut(m.Manager, "@"); named && found.name != name {
		for _, l := range lockFiles {
			if l.name == name {
				found = manager{name: name}
				if d.known[path.Join(dir, l.lock)] {
					found = l
				}
				break
			}
		}
	}
	if found.name == "yarn" {
		found.berry = d.known[path.Join(dir, ".yarnrc.yml")] ||
			strings.Contains(d.text(path.Join(dir, found.lock)), "\n__metadata:") ||
			namedVersion(m.Manager) != "" && !strings.HasPrefix(m.Manager, "yarn@1.")
	}
	return found
}

var managerVersion = lazyregexp.New(`^[a-z]+@(\d+\.\d+\.\d+[A-Za-z0-9.-]*)`)

// namedVersion is the version of the manager that a package names, "" for none.
func namedVersion(manager string) string {
	if found := managerVersion.FindStringSubmatch(manager); found != nil {
		return found[1]
	}
	return ""
}

// node: packages that are installed by themselves, and members of workspaces whose root has no test of its own. A package below
// another one without a lock file is installed like any other, where a setup is proposed.
func (d *detector) node() {
	var roots []space
	var packages, members []string
	for _, file := range d.under("package.json") {
		dir := path.Dir(file)
		m, ok := d.manifest(file)
		i := slices.IndexFunc(roots, func(root space) bool { return root.holds(dir) })
		switch {
		case !ok:
		case i >= 0:
			if m.test() != "" && !roots[i].tests {
				members = append(members, dir)
			}
		default:
			if dir == "." || m.test() != "" {
				packages = append(packages, dir)
			}
			roots = append(roots, d.space(dir, &m))
		}
	}
	for _, dir := range d.most("npm packages", packages) {
		m, _ := d.manifest(path.Join(dir, "package.json"))
		with := d.managerOf(dir, &m)
		if dir == "." || d.ready("npm packages", dir, "", with.lock != "" || !d.known["package.json"] || !m.depends()) {
			d.npmProject(dir, &m, with)
		}
	}
	for _, dir := range d.most("npm packages", members) {
		m, _ := d.manifest(path.Join(dir, "package.json"))
		root := roots[slices.IndexFunc(roots, func(root space) bool { return root.holds(dir) })]
		if g, ok := testGate(dir, &m, root.with); ok {
			d.add(root.with.name+"-test", dir, g)
		}
	}
}

// depends reports whether a package needs others.
func (m *manifest) depends() bool { return len(m.Deps)+len(m.Dev)+len(m.Opt) > 0 }

// npmGates adds the gates of one installed package.
func (d *detector) npmGates(dir string, m *manifest, with manager) {
	if gates := chained(m, with); dir == "." && len(gates) > 0 {
		for _, g := range gates {
			d.add(with.name+"-"+g.Name, dir, g)
		}
	} else if g, ok := testGate(dir, m, with); ok {
		d.add(with.name+"-test", dir, g)
		if own := m.pieces(with); len(own) > 0 && dir == "." {
			d.Instead = map[string][]spec.Gate{d.Gates[len(d.Gates)-1].Name: own}
		}
	} else if tool, words := d.orchestrator(dir); tool != "" {
		d.add(tool+"-test", dir, spec.Gate{Command: slices.Concat(with.exec(dir), words)})
		if dir == "." && tool == "turbo" {
			d.Instead = map[string][]spec.Gate{tool + "-test": d.members(d.space(dir, m), slices.Concat(with.exec(dir), words))}
		}
	}
}

// npmProject adds the gates and the setup of one installed package.
func (d *detector) npmProject(dir string, m *manifest, with manager) {
	d.npmGates(dir, m, with)
	if !m.depends() && len(d.space(dir, m).globs) == 0 ||
		d.dirs[path.Join(dir, "node_modules")] || d.zeroInstall(dir, with) {
		return
	}
	why := path.Join(dir, with.lock)
	if with.lock == "" {
		why = path.Join(dir, "package.json")
	} else {
		d.Needed = d.Needed || len(d.Gates) > 0
	}
	line := d.program(m, with) + with.install()
	modules := "node_modules"
	if with.berry && !strings.Contains(d.text(path.Join(dir, ".yarnrc.yml")), "nodeLinker: node-modules") {
		modules = ".pnp.cjs"
		d.Ignored = append(d.Ignored, path.Join(dir, ".yarn"))
	}
	d.Ignored = append(d.Ignored, path.Join(dir, modules))
	if derived := d.built(dir); len(derived) > 0 && m.Scripts["build"] != "" {
		build := []string{with.name, "run", "build"}
		line += " && " + strings.Join(build, " ")
		d.Derived = append(d.Derived, derived...)
		if dir == "." {
			d.Regenerate = build
		}
	}
	d.try(dir, line, why, dir != "." && with.lock == "")
	without := with.install() + " --ignore-scripts"
	if with.berry {
		without = with.install() + " --mode=skip-build"
	}
	d.steps[len(d.steps)-1].bare = strings.Replace(line, with.install(), without, 1)
}

// zeroInstall reports whether the packages themselves are tracked, as yarn can do it.
func (d *detector) zeroInstall(dir string, with manager) bool {
	return with.berry && d.known[path.Join(dir, ".pnp.cjs")] && d.dirs[path.Join(dir, ".yarn/cache")]
}

// install is the line that installs exactly what the lock file says.
func (m manager) install() string {
	switch {
	case m.lock == "" && m.name == "npm":
		return "npm install --no-audit --no-fund"
	case m.lock == "":
		return m.name + " install"
	case m.name == "npm":
		return "npm ci --no-audit --no-fund"
	case m.berry:
		return "yarn install --immutable"
	}
	return m.name + " install --frozen-lockfile"
}

// program is the part of a line that installs the manager itself, where the package names its version or the machine has none:
// gates cannot download it.
func (d *detector) program(m *manifest, with manager) string {
	version := namedVersion(m.Manager)
	if with.name == "npm" || version == "" && (d.Has == nil || d.Has(with.name)) {
		return ""
	}
	name := with.name
	switch {
	case with.berry:
		name = "@yarnpkg/cli-dist"
		version = cmp.Or(version, "4")
	case version == "" && with.name != "pnpm":
		version = "1"
	case version == "":
		version = pnpmOf(d.text(with.lock))
	}
	return `npm install --global --no-audit --no-fund --prefix "$DIVISI_TOOLS" ` + name + "@" + version + " && "
}

// pnpmOf is the version of pnpm that writes a lock file's version.
func pnpmOf(lock string) string {
	head := text.Head(lock, 100)
	switch {
	case strings.Contains(head, "lockfileVersion: '6"):
		return "8"
	case strings.Contains(head, "lockfileVersion: 5"):
		return "7"
	}
	return "9"
}

// built lists the directories of workspaces that others need and that are not tracked: a build makes them.
func (d *detector) built(dir string) []string {
	needed, entries := map[string]bool{}, map[string][]string{}
	for _, file := range d.under("package.json") {
		at := path.Dir(file)
		if dir != "." && !strings.HasPrefix(at+"/", dir+"/") {
			continue
		}
		m, ok := d.manifest(file)
		if !ok {
			continue
		}
		for _, deps := range []map[string]string{m.Deps, m.Dev, m.Opt, m.Peer} {
			for name := range deps {
				needed[name] = true
			}
		}
		if at == dir || m.Name == "" {
			continue
		}
		for _, entry := range strs([]any{m.Main, m.Module, m.Types, m.Bin, m.Exports}) {
			first, _, below := strings.Cut(path.Clean(entry), "/")
			place := path.Join(at, first)
			if below && first != ".." && first != "" && !strings.ContainsAny(first, "*{[") && !d.dirs[place] {
				entries[m.Name] = append(entries[m.Name], place)
			}
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if needed[name] {
			found = append(found, entries[name]...)
		}
	}
	return found
}

// strs collects the strings of a JSON value.
func strs(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, strs(one)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, strs(v[key])...)
		}
	}
	return all
}

// testGate runs the test script with the reporter of its runner that names tests, where the script ends with a runner that takes
// one; else as it is.
func testGate(dir string, m *manifest, with manager) (spec.Gate, bool) {
	script := m.test()
	if script == "" {
		return spec.Gate{}, false
	}
	var g spec.Gate
	name := "test"
	if alias := aliasOf(script, m.Scripts); alias != "" {
		name, script = alias, m.Scripts[alias]
	}
	env, flags, format := reporter(script)
	g.Format = format
	if format == "" {
		name = "test"
	}
	if len(env) > 0 {
		g.Command = append([]string{"env"}, env...)
	}
	g.Command = append(g.Command, with.run(dir, name)...)
	if len(flags) > 0 {
		if with.name == "npm" {
			g.Command = append(g.Command, "--")
		}
		g.Command = append(g.Command, flags...)
	}
	if before := m.before(dir, with); name != "test" && before != "" {
		g.Command = []string{"sh", "-c", before + text.CommandLine(g.Command)}
	}
	return g, true
}

// run is the command that runs a script of a package.
func (m manager) run(dir, script string) []string {
	if script == "test" && m.name != "bun" {
		return append(m.at(dir), "test")
	}
	return append(m.at(dir), "run", script)
}
