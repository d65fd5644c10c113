package detect

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
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

// golang: the modules of go.work, and apart from it those that it does not name; without it all that have Go files of their own.
func (d *detector) golang() {
	var dirs []string
	for _, file := range d.under("go.mod") {
		if dir := path.Dir(file); !trace.PassedOver(file) && (dir == "." || len(d.packages(dir)) > 0) {
			dirs = append(dirs, dir)
		}
	}
	uses := trace.Uses(d.text("go.work"))
	if len(uses) == 0 {
		d.modules(d.most("Go modules", dirs), nil)
		return
	}
	beside := slices.DeleteFunc(dirs, func(dir string) bool { return slices.Contains(uses, dir) })
	uses = slices.DeleteFunc(uses, func(dir string) bool { return !d.known[path.Join(dir, "go.mod")] })
	d.modules(d.most("Go modules", uses), nil)
	d.modules(d.most("Go modules", beside), []string{"env", "GOWORK=off"})
}

// modules adds gates and setup of modules. Build comes first, because it fails fast and names compile errors; test also compiles
// the tests and vets. Where a package's name keeps go from importing it, "go build ./..." builds nothing at all, and there is
// only the test.
func (d *detector) modules(dirs, before []string) {
	var lacking []string
	for _, dir := range dirs {
		command := append(slices.Clone(before), "go")
		if dir != "." {
			command = append(command, "-C", dir)
		}
		packages := d.packages(dir)
		if !slices.ContainsFunc(packages, func(p string) bool { return !trace.Importable(p) }) {
			build := append(slices.Clone(command), "build")
			if len(packages) == 1 && d.isProgram(dir, packages[0]) {
				build = append(build, "-o", "/dev/null") // of one package alone go writes the program to the tree
			}
			d.add(GoBuild, dir, spec.Gate{Command: append(build, "./...")})
		}
		d.add(GoTest, dir, spec.Gate{
			Command: append(slices.Clone(command), "test", "-json", "./..."), Format: gate.FormatGoTest,
		})
		if d.known[path.Join(dir, "go.sum")] && !d.dirs[path.Join(dir, "vendor")] {
			lacking = append(lacking, dir)
		}
	}
	if len(lacking) > 0 {
		d.install(".", d.download(lacking, before), path.Join(lacking[0], "go.sum"))
	}
}

// download is the line that downloads the modules that others need: a workspace is downloaded as a whole.
func (d *detector) download(dirs, before []string) string {
	run := strings.Join(append(slices.Clone(before), "go"), " ")
	switch {
	case d.known["go.work"] && len(before) == 0 || slices.Equal(dirs, []string{"."}):
		return run + " mod download"
	case len(dirs) == 1:
		return run + " -C " + text.Shell(dirs[0]) + " mod download"
	}
	var quoted []string
	for _, dir := range dirs {
		quoted = append(quoted, text.Shell(dir))
	}
	return `for m in ` + strings.Join(quoted, " ") + `; do ` + run + ` -C "$m" mod download || exit 1; done`
}

// packages are the directories of a module, relative to it, with Go files that the go command reads. A module without any only
// pins tools.
func (d *detector) packages(module string) []string {
	var found []string
	for _, file := range d.files {
		if !strings.HasSuffix(file, ".go") || !within(file, module) || d.home(file, "go.mod") != module {
			continue
		}
		rel := strings.TrimPrefix(file, module+"/")
		if dir := path.Dir(rel); !trace.PassedOver(rel) && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}

var mainClause = lazyregexp.New(`(?m)^package main\b`)

// isProgram reports whether a package is a program.
func (d *detector) isProgram(module, pkg string) bool {
	dir := path.Join(module, pkg)
	return slices.ContainsFunc(d.files, func(file string) bool {
		return path.Dir(file) == dir && strings.HasSuffix(file, ".go") && mainClause.MatchString(d.text(file))
	})
}
