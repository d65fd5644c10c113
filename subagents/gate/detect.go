package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate/trace"
)

// maxBuildFile bounds what is read of a file that describes a build, in bytes.
const maxBuildFile = 1 << 20

// DetectAt proposes the gates of a commit.
func DetectAt(ctx context.Context, repo *git.Repo, commit string) ([]spec.Gate, error) {
	entries, err := repo.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	files := make([]string, 0, len(entries))
	for _, e := range entries {
		files = append(files, e.Path)
	}
	return Detect(files, func(path string) ([]byte, error) { return repo.ReadFile(ctx, commit, path, maxBuildFile) }), nil
}

// Detect proposes the gates of a repository from its tracked files (slash-separated, relative to its root) and the
// content of a few of them. It proposes only what the files show to be there; a file that cannot be read or understood
// proposes nothing.
func Detect(files []string, read func(string) ([]byte, error)) []spec.Gate {
	d := detector{files: files, known: map[string]bool{}, read: read}
	for _, file := range files {
		d.known[file] = true
	}
	gates := slices.Concat(d.golang(), d.node(), d.python(), d.rust())
	if len(gates) == 0 {
		gates = d.make()
	}
	return gates
}

type detector struct {
	files []string
	known map[string]bool
	read  func(string) ([]byte, error)
}

// text is the content of a known file, or "".
func (d detector) text(file string) string {
	if !d.known[file] {
		return ""
	}
	data, err := d.read(file)
	if err != nil {
		return ""
	}
	return string(data)
}

// golang: build first, because it fails fast and names compile errors; test also compiles the tests and vets. Where a
// package's name keeps go from importing it, "go build ./..." builds nothing at all, and there is only the test.
func (d detector) golang() []spec.Gate {
	var gates []spec.Gate
	taken := map[string]bool{}
	for _, dir := range d.modules() {
		build, test := spec.Gate{Name: "go-build"}, spec.Gate{Name: "go-test", Format: FormatGoTest}
		command := []string{"go"}
		if dir != "." {
			suffix := nameOf(dir, taken)
			build.Name, test.Name = build.Name+suffix, test.Name+suffix
			command = append(command, "-C", dir)
		}
		build.Command = append(slices.Clone(command), "build", "./...")
		test.Command = append(slices.Clone(command), "test", "-json", "./...")
		if d.importable(dir) {
			gates = append(gates, build)
		}
		gates = append(gates, test)
	}
	return gates
}

// maxSuffix keeps a gate's name within what a project file may say.
const maxSuffix = 48

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// nameOf makes the end of a gate's name from a directory, unlike those that are taken.
func nameOf(dir string, taken map[string]bool) string {
	base := "-" + text.Head(strings.Trim(notInName.ReplaceAllLiteralString(dir, "-"), "-"), maxSuffix)
	suffix := base
	for n := 2; taken[suffix]; n++ {
		suffix = base + "-" + strconv.Itoa(n)
	}
	taken[suffix] = true
	return suffix
}

// importable reports whether go can import every package below a module's directory.
func (d detector) importable(module string) bool {
	below := strings.TrimPrefix(module+"/", "./")
	return !slices.ContainsFunc(d.files, func(file string) bool {
		rel, ok := strings.CutPrefix(file, below)
		return ok && strings.HasSuffix(rel, ".go") && !trace.PassedOver(rel) && !trace.Importable(path.Dir(rel))
	})
}

// modules are those of go.work; else the root's; else those nearest to the root.
func (d detector) modules() []string {
	if uses := trace.Uses(d.text("go.work")); len(uses) > 0 {
		return slices.DeleteFunc(uses, func(dir string) bool { return !d.known[path.Join(dir, "go.mod")] })
	}
	if d.known["go.mod"] {
		return []string{"."}
	}
	nearest, depth := []string{}, -1
	for _, file := range slices.Sorted(slices.Values(d.files)) {
		if path.Base(file) != "go.mod" || trace.PassedOver(file) {
			continue
		}
		switch n := strings.Count(file, "/"); {
		case depth < 0 || n < depth:
			nearest, depth = []string{path.Dir(file)}, n
		case n == depth:
			nearest = append(nearest, path.Dir(file))
		}
	}
	return nearest
}

// node: the package's own test script, unless it is the one that npm init writes.
func (d detector) node() []spec.Gate {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	text := d.text("package.json")
	if text == "" || json.Unmarshal([]byte(text), &manifest) != nil {
		return nil
	}
	script := strings.TrimSpace(manifest.Scripts["test"])
	if script == "" || strings.Contains(script, "no test specified") {
		return nil
	}
	manager := "npm"
	switch {
	case d.known["pnpm-lock.yaml"]:
		manager = "pnpm"
	case d.known["yarn.lock"]:
		manager = "yarn"
	case d.known["bun.lock"], d.known["bun.lockb"]:
		return []spec.Gate{{Name: "bun-test", Command: []string{"bun", "run", "test"}}}
	}
	return []spec.Gate{{Name: manager + "-test", Command: []string{manager, "test"}}}
}

// python: only where pytest is configured, or used by a test file's name in a Python project.
func (d detector) python() []spec.Gate {
	configured := d.known["pytest.ini"] || d.known["conftest.py"] || d.known["tests/conftest.py"] ||
		strings.Contains(d.text("pyproject.toml"), "[tool.pytest") || strings.Contains(d.text("setup.cfg"), "[tool:pytest]") ||
		strings.Contains(d.text("tox.ini"), "[pytest]")
	project := d.known["pyproject.toml"] || d.known["setup.py"] || d.known["setup.cfg"] || d.known["requirements.txt"]
	tests := slices.ContainsFunc(d.files, func(file string) bool {
		name := path.Base(file)
		return strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py") || strings.HasSuffix(name, "_test.py")
	})
	if !tests || !configured && !project {
		return nil
	}
	return []spec.Gate{{Name: "pytest", Command: []string{"python3", "-m", "pytest", "-q", "-rfE"}, Format: FormatText}}
}

func (d detector) rust() []spec.Gate {
	if !d.known["Cargo.toml"] {
		return nil
	}
	command := []string{"cargo", "test", "--workspace", "--no-fail-fast"}
	return []spec.Gate{{Name: "cargo-test", Command: command, Format: FormatText}}
}

var testTarget = regexp.MustCompile(`(?m)^test[ \t]*:(?:[^=]|$)`)

// make comes last: where another tool is found, its test target would run the same tests once more.
func (d detector) make() []spec.Gate {
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if text := d.text(file); text != "" {
			if !testTarget.Match(bytes.TrimSpace([]byte(text))) {
				return nil
			}
			return []spec.Gate{{Name: "make-test", Command: []string{"make", "test"}}}
		}
	}
	return nil
}
