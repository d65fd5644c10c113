package detect

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// Report is the file of the tree that pytest writes its report to; gates remove it when they have read it.
const Report = ".divisi-pytest.xml"

var (
	requirements = lazyregexp.New(`^(?:requirements(?:/.*)?|[\w.-]*requirements[\w.-]*)\.(?:txt|in)$`)
	// otherNeeds are those of documentation, and the oldest ones beside the latest.
	otherNeeds = lazyregexp.New(`(?i)doc|oldest`)
	testGroup  = lazyregexp.New(`^(?:tests?|testing|dev|develop)$`)
	testFile   = lazyregexp.New(`(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$`)
	// testPaths matches the setting in a file of pytest, with what follows it in lines that are indented.
	testPaths = lazyregexp.New(`(?m)^testpaths[ \t]*=(.*(?:\n[ \t]+\S.*)*)`)
)

// pyproject is the relevant part of a pyproject.toml.
type pyproject struct {
	Project *struct {
		Dependencies []any
		Optional     map[string]any `toml:"optional-dependencies"`
	}
	Groups map[string]any `toml:"dependency-groups"`
	Tool   struct {
		Poetry *struct {
			Dependencies map[string]any
			Group        map[string]any
			Dev          map[string]any `toml:"dev-dependencies"`
		}
		Pytest *struct {
			Options struct{ Testpaths any } `toml:"ini_options"`
		}
		UV struct{ Workspace any } `toml:"uv"`
	}
}

// pythonProject is a directory that may have tests which pytest runs.
type pythonProject struct {
	dir       string
	file      pyproject
	text      string // of pyproject.toml
	has       func(string) bool
	content   func(string) string
	testpaths []string
	extras    map[string]any
}

// pythonIn reads what a directory says of a Python project.
func (d *detector) pythonIn(dir string) *pythonProject {
	p := &pythonProject{
		dir:     dir,
		has:     func(name string) bool { return d.known[path.Join(dir, name)] },
		content: func(name string) string { return d.text(path.Join(dir, name)) },
	}
	p.text = p.content("pyproject.toml")
	if toml.Unmarshal([]byte(p.text), &p.file) != nil {
		p.file = pyproject{}
	}
	if p.file.Project != nil {
		p.extras = p.file.Project.Optional
	}
	if pytest := p.file.Tool.Pytest; pytest != nil {
		p.testpaths = strs(pytest.Options.Testpaths)
	}
	for _, name := range []string{"pytest.ini", "tox.ini", "setup.cfg"} {
		if found := testPaths.FindStringSubmatch(p.content(name)); found != nil {
			p.testpaths = append(p.testpaths, strings.Fields(found[1])...)
		}
	}
	return p
}

// configures reports whether the directory has settings of pytest.
func (p *pythonProject) configures() bool {
	return p.has("pytest.ini") || strings.Contains(p.text, "[tool.pytest") ||
		strings.Contains(p.content("setup.cfg"), "[tool:pytest]") || strings.Contains(p.content("tox.ini"), "[pytest]")
}

// named reports whether the directory is that of a project.
func (p *pythonProject) named() bool {
	return p.has("setup.py") || p.file.Project != nil || p.file.Tool.Poetry != nil ||
		strings.Contains(p.content("setup.cfg"), "[metadata]")
}

// collects reports whether pytest, which works in the project, finds the tests below a directory; apart sets that it need not
// where no setting tells it to.
func (p *pythonProject) collects(dir string, apart bool) bool {
	return len(p.testpaths) == 0 && !apart || slices.ContainsFunc(p.testpaths, func(at string) bool {
		at = path.Join(p.dir, at)
		return within(dir, at) || within(at, dir)
	})
}

// pythons returns the projects with tests of their own, those nearest to the top first, and what the top says.
func (d *detector) pythons() (found []*pythonProject, top *pythonProject) {
	top = d.pythonIn(".")
	projects := map[string]*pythonProject{".": top}
	for _, name := range []string{"pytest.ini", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini"} {
		for _, file := range d.under(name) {
			dir := path.Dir(file)
			if p := d.pythonIn(dir); projects[dir] == nil && (p.configures() || p.named()) {
				projects[dir] = p
			}
		}
	}
	for _, file := range d.files {
		if !testFile.MatchString(file) || foreign(file) {
			continue
		}
		dir := path.Dir(file)
		for ; projects[dir] == nil; dir = path.Dir(dir) {
		}
		if !slices.Contains(found, projects[dir]) {
			found = append(found, projects[dir])
		}
	}
	slices.SortStableFunc(found, func(a, b *pythonProject) int { return nearer(a.dir, b.dir) })
	return found, top
}

// python: the top, only where pytest is configured, or used by a test file's name in a Python project, and the projects below
// whose tests it does not collect.
func (d *detector) python() {
	found, top := d.pythons()
	known := top.has("pyproject.toml") || top.has("setup.py") || top.has("setup.cfg") || top.has("requirements.txt")
	whole := slices.Contains(found, top) &&
		(known || top.configures() || top.has("conftest.py") || top.has("tests/conftest.py"))
	byDir, dirs := map[string]*pythonProject{}, []string(nil)
	for _, p := range found {
		if p != top && (!whole || !top.collects(p.dir, d.Whole && p.named())) {
			byDir[p.dir], dirs = p, append(dirs, p.dir)
		}
	}
	dirs = slices.DeleteFunc(d.most("Python projects", dirs), func(dir string) bool {
		line, _ := d.pythonSetup(byDir[dir])
		return !d.ready("Python projects", dir, "", line == "" && !byDir[dir].depends())
	})
	environment := ""
	if whole || len(dirs) > 0 && top.file.Tool.UV.Workspace != nil {
		environment = d.environment(top, "")
	}
	if whole {
		d.pytest(top, environment, dirs)
	}
	for _, dir := range dirs {
		d.pytest(byDir[dir], d.environment(byDir[dir], environment), nil)
	}
}

// depends reports whether a project needs packages.
func (p *pythonProject) depends() bool {
	return p.has("setup.py") || p.file.Project != nil && len(p.file.Project.Dependencies) > 0 ||
		p.file.Tool.Poetry != nil && len(p.file.Tool.Poetry.Dependencies) > 0
}

// environment adds the setup of a project, and returns the Python that it makes; "" for that of the machine. Members of a
// workspace, and projects that install nothing, have that of the top.
func (d *detector) environment(p *pythonProject, top string) string {
	line, why := d.pythonSetup(p)
	if top != "" && (line == "" || !p.has("uv.lock") && d.pythonIn(".").file.Tool.UV.Workspace != nil) {
		return strings.Repeat("../", strings.Count(p.dir, "/")+1) + top
	}
	if line == "" {
		return ""
	}
	d.Ignored = append(d.Ignored, path.Join(p.dir, ".venv"))
	d.try(p.dir, line, path.Join(p.dir, why), p.dir != "." || len(d.Gates) > 0)
	if !d.Whole {
		return ""
	}
	return ".venv/bin/python"
}

// pytest adds the gate of a project, which works in its directory and leaves out those of others.
func (d *detector) pytest(p *pythonProject, python string, others []string) {
	var settings, command []string
	if p.dir != "." {
		settings = append(settings, "--chdir="+p.dir)
	}
	if python == "" && d.srcLayout(p.dir) {
		// Another version of the package may be installed on the machine; the tests are to import the tree's.
		settings = append(settings, "PYTHONPATH=src")
	}
	if len(settings) > 0 {
		command = append([]string{"env"}, settings...)
	}
	command = append(command, cmp.Or(python, "python3"), "-m", "pytest", "-q", "-rfE", "--continue-on-collection-errors")
	for _, dir := range others {
		if p.collects(dir, false) {
			command = append(command, "--ignore="+dir)
		}
	}
	command = append(command, p.leftOut()...)
	d.add("pytest", p.dir, spec.Gate{Command: append(command, "--junitxml="+Report), Format: gate.FormatJUnit})
}

// srcLayout reports whether the packages of a project lie in src, where nothing imports them from without an installation.
func (d *detector) srcLayout(dir string) bool {
	return slices.ContainsFunc(d.files, func(file string) bool {
		rel, ok := strings.CutPrefix(file, path.Join(dir, "src")+"/")
		return ok && strings.Count(rel, "/") == 1 && path.Base(rel) == "__init__.py"
	})
}

// pythonSetup is the line that installs, in the project's directory, what its tests import, and the file that shows it. It is
// proposed only where the machine has what the line needs.
func (d *detector) pythonSetup(p *pythonProject) (line, why string) {
	switch {
	case p.has("uv.lock") && (d.Has == nil || d.Has("uv")):
		line = "uv sync --frozen" + forTests(" --group ", p.file.Groups)
		if p.file.Tool.UV.Workspace != nil {
			line = strings.Join([]string{line, "--all-packages"}, " ")
		}
		return line, "uv.lock"
	case p.has("poetry.lock") && (d.Has == nil || d.Has("poetry")):
		line = "env POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"
		if of := p.file.Tool.Poetry; of != nil {
			line += forTests(" --with ", of.Group)
		}
		return line + forTests(" --extras ", p.extras), "poetry.lock"
	}
	return d.pip(p)
}

// forTests is the group or extra that is named after tests, else that of the developers, after the words before it; "" for none.
func forTests(before string, groups map[string]any) (found string) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if testGroup.MatchString(name) {
			found = before + name // dev comes before test
		}
	}
	return found
}

// pip is the line for a project without a lock file that the machine can read: its files of requirements, what tox installs for
// its tests, a group or an extra for tests, and the package itself.
func (d *detector) pip(p *pythonProject) (line, why string) {
	args, seen := []string(nil), map[string]bool{}
	for _, file := range d.files {
		rel, ok := file, within(file, p.dir)
		if p.dir != "." {
			rel = strings.TrimPrefix(file, p.dir+"/")
		}
		if ok && requirements.MatchString(rel) && strings.HasSuffix(rel, ".txt") && !otherNeeds.MatchString(rel) {
			args, why = append(args, "-r", text.Shell(rel)), cmp.Or(why, rel)
		}
	}
	packaged := strings.Contains(p.text, "[build-system]") || p.has("setup.py") || p.file.Tool.Poetry != nil
	switch {
	case len(args) == 0 && !packaged:
		return "", ""
	case len(args) == 0:
		if why = "pyproject.toml"; p.text == "" {
			why = "setup.py"
		}
		for _, one := range slices.Concat(p.tox("testenv", seen), p.group(forTests("", p.file.Groups), seen), p.poetry()) {
			args = append(args, text.Shell(one))
		}
	}
	if !slices.Contains(args, "pytest") {
		args = append(args, "pytest") // in the version that something above pins
	}
	if extra := forTests("'.[", p.extras); packaged && extra != "" {
		args = append(args, "-e", extra+"]'")
	} else if packaged {
		args = append(args, "-e", ".")
	}
	const install = " && .venv/bin/pip install "
	pinned, args := p.hashed(args)
	if line = "python3 -m venv .venv"; len(pinned) > 0 {
		line += install + strings.Join(pinned, " ")
	}
	return line + install + strings.Join(args, " "), why
}

// poetry are the packages of a project of poetry for its tests, for a machine that has no lock file to read.
func (p *pythonProject) poetry() (packages []string) {
	of := p.file.Tool.Poetry
	if of == nil {
		return nil
	}
	needs := of.Dev
	if group, ok := of.Group[forTests("", of.Group)].(map[string]any); ok {
		needs, _ = group["dependencies"].(map[string]any)
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		version, _ := needs[name].(string)
		if m := caret.FindStringSubmatch(version); m != nil {
			next, err := strconv.Atoi(m[2])
			if err != nil {
				continue
			}
			version = fmt.Sprintf(">=%s,<%d", m[1], next+1)
		}
		if !toxPackage.MatchString(name + version) {
			version = "" // a form of its own, or any
		}
		packages = append(packages, name+version)
	}
	return packages
}

// caret matches a version of poetry that any with the same first number meets.
var caret = lazyregexp.New(`^\^(([1-9]\d*)(?:\.\d+)*)$`)

// hashed are the files of requirements among pip's arguments that name the digests of all that they install: pip takes nothing
// without one beside them.
func (p *pythonProject) hashed(args []string) (pinned, others []string) {
	for i := 0; i < len(args); i++ {
		if args[i] != "-r" {
			others = append(others, args[i])
			continue
		}
		if i++; strings.Contains(p.content(strings.Trim(args[i], "'")), "--hash=") {
			pinned = append(pinned, "-r", args[i])
		} else {
			others = append(others, "-r", args[i])
		}
	}
	return pinned, others
}

// group are the packages of a dependency group, with those of the groups that it includes.
func (p *pythonProject) group(name string, seen map[string]bool) (packages []string) {
	for _, one := range strs(p.file.Groups[name]) {
		if p.file.Groups[one] == nil {
			packages = append(packages, one)
		} else if !seen[one] {
			seen[one] = true
			packages = append(packages, p.group(one, seen)...)
		}
	}
	return packages
}

// leftOut are the flags with which tox leaves paths out where it runs the tests.
func (p *pythonProject) leftOut() (flags []string) {
	for line := range strings.Lines(p.section("testenv")) {
		if _, args, runs := strings.Cut(line, "pytest"); runs {
			for _, found := range toxIgnore.FindAllStringSubmatch(args, -1) {
				flags = append(flags, "--ignore="+found[1])
			}
		}
	}
	return slices.Compact(flags)
}

// section is one of tox.ini.
func (p *pythonProject) section(name string) string {
	_, body, _ := strings.Cut("\n"+p.content("tox.ini"), "\n["+name+"]\n")
	body, _, _ = strings.Cut(body, "\n[")
	return body
}

var (
	toxIgnore = lazyregexp.New(`--ignore[= ]([\w][\w./-]*)`)
	toxDeps   = lazyregexp.New(`(?m)^deps[ \t]*=(.*(?:\n(?:[ \t]+\S.*|[ \t]*|#.*))*)`)
	toxOther  = lazyregexp.New(`^\{\[([^\]]+)\]deps\}$`)
	toxFile   = lazyregexp.New(`^-r\s*(?:\{toxinidir\}/)?([\w./-]+)$`)
	// toxPackage matches a package without conditions of tox, which stand in front of a colon.
	toxPackage = lazyregexp.New(`^[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:\s*[<>=!~][^:{}]*)?$`)
)

// tox are the packages that tox installs for the tests in each environment.
func (p *pythonProject) tox(section string, seen map[string]bool) (packages []string) {
	deps := toxDeps.FindStringSubmatch(p.section(section))
	for line := range strings.Lines(strings.Join(deps[min(1, len(deps)):], "")) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if other := toxOther.FindStringSubmatch(line); other != nil && !seen[line] {
			seen[line] = true
			packages = append(packages, p.tox(other[1], seen)...)
		} else if file := toxFile.FindStringSubmatch(line); file != nil && p.has(file[1]) {
			packages = append(packages, "-r", file[1])
		} else if toxPackage.MatchString(line) && !slices.Contains(packages, line) {
			packages = append(packages, line)
		}
	}
	return packages
}
