package grade

import (
	"bytes"
	"go/build"
	"go/build/constraint"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/grade/calls"
)

// answer is the use of a Go file by the calls of the gate.
func (g *golang) answer(name string) goAnswer {
	var best goAnswer
	for _, r := range g.runs {
		a := g.answerOf(r, name)
		switch {
		case a.compiled && a.sure:
			return a
		case a.compiled || best.u == nil && !best.compiled || !best.compiled && best.u.Reason == NotInBuild && a.u != nil:
			best = a
		}
	}
	return best
}

// answerOf is that of one call.
func (g *golang) answerOf(r goRun, name string) goAnswer {
	dir := path.Dir(name)
	covered, known := g.covers(r, name)
	home := g.home(dir)
	switch {
	case !known && !covered:
		return goAnswer{compiled: g.matches(r.context, name)}
	case home != "" && !slices.Contains(r.main, home):
		return goAnswer{u: &spec.Unread{
			Grade: spec.GradeUnread, Reason: "nested module " + home, Command: []string{"go", "-C", home, "vet", "./..."},
		}}
	case !g.matches(r.context, name):
		return goAnswer{u: g.elsewhere(r, name)}
	case !covered:
		u := shut(NotInBuild)
		if home != "" && !strings.Contains(name, "testdata/") {
			u.Command = []string{"go", "vet", place(dir)}
		}
		return goAnswer{u: u}
	case strings.HasSuffix(name, "_test.go") && !r.tests:
		u := shut(strings.Join(r.call.Words[:min(2, len(r.call.Words))], " ") + " compiles no tests")
		u.Command = []string{"go", "vet", place(dir)}
		return goAnswer{u: u}
	}
	return goAnswer{compiled: true, sure: r.call.Sure && known}
}

// place is how the go command is told a directory.
func place(dir string) string {
	if dir == "." {
		return "."
	}
	return "./" + dir
}

// systems are those that a file which is not built here may be for, the likely ones first; chips their processors.
var (
	systems = strings.Fields(`linux windows darwin freebsd openbsd netbsd solaris plan9 android ios aix dragonfly illumos js
		wasip1`)
	chips = strings.Fields(`amd64 arm64 386 arm wasm riscv64 ppc64le s390x ppc64 mips64 mips loong64`)
)

// elsewhere is the grade of a file that is not in a build: the constraint that keeps it out, and what would compile it.
func (g *golang) elsewhere(r goRun, name string) *spec.Unread {
	dir := path.Dir(name)
	expr, line := g.constraint(name)
	u := &spec.Unread{Grade: spec.GradeUnread, Reason: text.Clip(text.OneLine(line), maxReason)}
	if u.Reason == "" {
		u.Reason = suffix(name)
	}
	if u.Reason == "" && g.importsC(name) {
		u.Reason = "cgo is off"
	}
	own := tagsOf(expr)
	if slices.Contains(own, "ignore") {
		u.Command = []string{"go", "vet", "./" + name}
		return u
	}
	here := r.context
	for _, tags := range [][]string{nil, own} {
		for _, cgo := range []bool{here.CgoEnabled, !here.CgoEnabled} {
			for _, system := range append([]string{here.GOOS}, systems...) {
				for _, chip := range append([]string{here.GOARCH}, chips...) {
					c := here
					c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = system, chip, cgo, append(slices.Clone(here.BuildTags), tags...)
					if isPort(system, chip) && g.matches(c, name) {
						u.Command = command(here, c, tags, dir)
						return u
					}
				}
			}
		}
	}
	return u
}

// isPort leaves out the pairs of a system and a processor that no toolchain has.
func isPort(system, chip string) bool {
	web := system == "js" || system == "wasip1"
	return web == (chip == "wasm")
}

// maxReason bounds a reason, in bytes.
const maxReason = 120

// command vets a directory in another build.
func command(here, c build.Context, tags []string, dir string) []string {
	var env []string
	if c.GOOS != here.GOOS {
		env = append(env, "GOOS="+c.GOOS)
	}
	if c.GOARCH != here.GOARCH {
		env = append(env, "GOARCH="+c.GOARCH)
	}
	if c.CgoEnabled != here.CgoEnabled {
		env = append(env, map[bool]string{true: "CGO_ENABLED=1", false: "CGO_ENABLED=0"}[c.CgoEnabled])
	}
	words := []string{"go", "vet"}
	if len(tags) > 0 {
		words = append(words, "-tags", strings.Join(c.BuildTags, ","))
	}
	if words = append(words, place(dir)); len(env) > 0 {
		words = slices.Concat([]string{"env"}, env, words)
	}
	return words
}

// constraint reads the build constraint of a file; nil for none.
func (g *golang) constraint(name string) (constraint.Expr, string) {
	for line := range bytes.Lines(g.text(name)) {
		line := strings.TrimSpace(string(line))
		if constraint.IsGoBuild(line) {
			expr, err := constraint.Parse(line)
			if err != nil {
				return nil, line
			}
			return expr, line
		}
		if line != "" && !strings.HasPrefix(line, "//") {
			return nil, ""
		}
	}
	return nil, ""
}

// tagsOf are the tags of a constraint that are no system, processor or release.
func tagsOf(expr constraint.Expr) (own []string) {
	switch e := expr.(type) {
	case *constraint.AndExpr:
		return append(tagsOf(e.X), tagsOf(e.Y)...)
	case *constraint.OrExpr:
		return append(tagsOf(e.X), tagsOf(e.Y)...)
	case *constraint.TagExpr:
		fixed := slices.Concat(systems, chips, []string{"unix", "cgo", "gc", "gccgo", "zos", "hurd", "nacl"})
		if !slices.Contains(fixed, e.Tag) && !strings.HasPrefix(e.Tag, "go1") {
			return []string{e.Tag}
		}
	}
	return nil
}

// suffix is why the name of a file keeps it out of a build, such as one that ends in _windows.go; "" where it does not.
func suffix(name string) string {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(path.Base(name), path.Ext(name)), "_test"), "_")
	first := len(parts)
	for first > 1 && (slices.Contains(systems, parts[first-1]) || slices.Contains(chips, parts[first-1])) {
		first--
	}
	if first == len(parts) {
		return ""
	}
	return "its name ends in _" + strings.Join(parts[first:], "_") + path.Ext(name)
}

// compilesC reports whether a sure call compiles a file of C or assembly as a part of a Go package. It opens each header there,
// and compiles those that another file names.
func (g *golang) compilesC(name string) bool {
	if strings.HasPrefix(path.Ext(name), ".h") {
		return false
	}
	dir := path.Dir(name)
	for _, r := range g.runs {
		covered, sure := g.covers(r, path.Join(dir, "x.go"))
		if !covered || !sure || !r.whole || !r.call.Sure || !g.matches(r.context, name) {
			continue
		}
		assembly := strings.EqualFold(path.Ext(name), ".s")
		for _, e := range entriesOf(g.root, dir) {
			source := path.Join(dir, e.Name())
			built := path.Ext(source) == ".go" && e.Type().IsRegular() && g.matches(r.context, source)
			if built && (assembly || g.importsC(source)) {
				return true
			}
		}
	}
	return false
}

// goFile grades a file of Go.
func (r *Reading) goFile(f File) (u *spec.Unread, question bool) {
	opened := r.opened.paths[f.Path]
	may := opened || r.opened.lacks(f.Path) != ""
	a, known := r.golang.known[f.Path]
	switch {
	case a.compiled && (a.sure || opened && r.calls.Whole && r.sweeps(true) == ""):
		return nil, false
	case known && !a.compiled && (r.calls.Whole || !may):
		return a.u, false
	case !known && r.calls.Whole && (!may || !r.calls.Any("", calls.Own)):
		return shut(""), false
	case !may:
		return shut(notOpened), false
	}
	u = r.vague(f)
	if a.u != nil {
		u.Reason, u.Command = a.u.Reason, a.u.Command
	}
	return u, true
}
