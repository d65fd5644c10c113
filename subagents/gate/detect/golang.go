package detect

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/gate/trace"
)

// The gates of a Go module; those of a module below the top have its directory behind them.
const (
	GoBuild = "go-build"
	GoTest  = "go-test"
)

// golang: build first, because it fails fast and names compile errors; test also compiles the tests and vets. Where a package's
// name keeps go from importing it, "go build ./..." builds nothing at all, and there is only the test.
func (d *detector) golang() {
	modules := d.modules()
	var lacking []string
	for _, dir := range modules {
		command := []string{"go"}
		if dir != "." {
			command = append(command, "-C", dir)
		}
		if d.importable(dir) {
			d.add(GoBuild, dir, spec.Gate{Command: append(slices.Clone(command), "build", "./...")})
		}
		d.add(GoTest, dir, spec.Gate{
			Command: append(slices.Clone(command), "test", "-json", "./..."), Format: gate.FormatGoTest,
		})
		if d.known[path.Join(dir, "go.sum")] && !d.dirs[path.Join(dir, "vendor")] {
			lacking = append(lacking, dir)
		}
	}
	if len(lacking) > 0 {
		d.install(".", d.download(lacking), path.Join(lacking[0], "go.sum"))
	}
}

// download is the line that downloads the modules that others need: a workspace is downloaded as a whole.
func (d *detector) download(dirs []string) string {
	switch {
	case d.known["go.work"] || slices.Equal(dirs, []string{"."}):
		return "go mod download"
	case len(dirs) == 1:
		return "go -C " + text.Shell(dirs[0]) + " mod download"
	}
	var quoted []string
	for _, dir := range dirs {
		quoted = append(quoted, text.Shell(dir))
	}
	return `for m in ` + strings.Join(quoted, " ") + `; do go -C "$m" mod download || exit 1; done`
}

// importable reports whether go can import every package below a module's directory.
func (d *detector) importable(module string) bool {
	below := strings.TrimPrefix(module+"/", "./")
	return !slices.ContainsFunc(d.files, func(file string) bool {
		rel, ok := strings.CutPrefix(file, below)
		return ok && strings.HasSuffix(rel, ".go") && !trace.PassedOver(rel) && !trace.Importable(path.Dir(rel))
	})
}

// modules are those of go.work, with a note of the others; else all that have Go files of their own.
func (d *detector) modules() []string {
	var dirs []string
	for _, file := range d.under("go.mod") {
		if dir := path.Dir(file); !trace.PassedOver(file) && (dir == "." || d.hasGo(dir)) {
			dirs = append(dirs, dir)
		}
	}
	uses := trace.Uses(d.text("go.work"))
	if len(uses) == 0 {
		return dirs
	}
	if left := slices.DeleteFunc(dirs, func(dir string) bool { return slices.Contains(uses, dir) }); len(left) > 0 {
		d.Notes = append(d.Notes, "Go modules that go.work does not name, which no gate tests: "+text.Some(left, maxWhy))
	}
	return slices.DeleteFunc(uses, func(dir string) bool { return !d.known[path.Join(dir, "go.mod")] })
}

// hasGo reports whether a module has packages: one without only pins tools.
func (d *detector) hasGo(dir string) bool {
	return slices.ContainsFunc(d.files, func(file string) bool {
		rel, ok := strings.CutPrefix(file, dir+"/")
		return ok && strings.HasSuffix(rel, ".go") && !trace.PassedOver(rel)
	})
}
