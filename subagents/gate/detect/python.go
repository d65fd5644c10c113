package detect

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// Report is the file of the tree that pytest writes its report to; gates remove it when they have read it.
const Report = ".divisi-pytest.xml"

var (
	requirements = lazyregexp.New(`^(?:requirements(?:/.*)?|[\w.-]*requirements[\w.-]*)\.(?:txt|in)$`)
	testGroup    = lazyregexp.New(`(?m)^\s*(tests?|testing)\s*=\s*\[`)
)

// python: only where pytest is configured, or used by a test file's name in a Python project.
func (d *detector) python() {
	project := d.text("pyproject.toml")
	configured := d.known["pytest.ini"] || d.known["conftest.py"] || d.known["tests/conftest.py"] ||
		strings.Contains(project, "[tool.pytest") || strings.Contains(d.text("setup.cfg"), "[tool:pytest]") ||
		strings.Contains(d.text("tox.ini"), "[pytest]")
	known := d.known["pyproject.toml"] || d.known["setup.py"] || d.known["setup.cfg"] || d.known["requirements.txt"]
	tests := slices.ContainsFunc(d.files, func(file string) bool {
		name := path.Base(file)
		return strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py") || strings.HasSuffix(name, "_test.py")
	})
	if !tests || !configured && !known {
		return
	}
	command := []string{"python3"}
	if line, why := d.pythonSetup(project); line != "" {
		d.Ignored = append(d.Ignored, ".venv")
		d.install(".", line, why)
		if d.Whole {
			command = []string{".venv/bin/python"}
		}
	}
	if len(command) == 1 && command[0] == "python3" && d.srcLayout() {
		// Another version of the package may be installed on the machine; the tests are to import the tree's.
		command = []string{"env", "PYTHONPATH=src", "python3"}
	}
	d.add("pytest", ".", spec.Gate{
		Command: append(command, "-m", "pytest", "-q", "-rfE", "--continue-on-collection-errors", "--junitxml="+Report),
		Format:  gate.FormatJUnit,
	})
}

// srcLayout reports whether the packages lie in src, where nothing imports them from without an installation.
func (d *detector) srcLayout() bool {
	return slices.ContainsFunc(d.files, func(file string) bool {
		parts := strings.Split(file, "/")
		return len(parts) == 3 && parts[0] == "src" && parts[2] == "__init__.py"
	})
}

// pythonSetup is the line that installs what the tests import, and the file that shows it. It is proposed only where the machine
// has what the line needs.
func (d *detector) pythonSetup(project string) (line, why string) {
	groups := ""
	if _, table, found := strings.Cut(project, "[dependency-groups]"); found {
		if named := testGroup.FindStringSubmatch(table); named != nil {
			groups = " --group " + named[1]
		}
	}
	if d.known["uv.lock"] && (d.Has == nil || d.Has("uv")) {
		return "uv sync --frozen" + groups, "uv.lock"
	}
	var files []string
	for _, file := range d.files {
		if requirements.MatchString(file) && strings.HasSuffix(file, ".txt") && !strings.Contains(strings.ToLower(file), "doc") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return "", ""
	}
	line = "python3 -m venv --system-site-packages .venv && .venv/bin/pip install"
	for _, file := range files {
		line += " -r " + text.Shell(file)
	}
	if strings.Contains(project, "[build-system]") || d.known["setup.py"] {
		line += " -e ."
	}
	return line, files[0]
}
