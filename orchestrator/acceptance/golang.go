package acceptance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// compareGo compares the tests of Go files. First only functions that differ, which do not show all helpers; where these do not
// pass, whole files.
func (p *Patch) compareGo(changes []Change) {
	weaker, edited := p.weaker, p.edited
	for _, whole := range []bool{false, true} {
		p.weaker, p.edited = weaker, edited
		before, after := newSide(), newSide()
		cut := false
		for _, c := range changes {
			b, a := string(c.Before), string(c.After)
			if !whole && c.Before != nil && c.After != nil {
				b, a = differing(b, a)
				cut = cut || len(b) < len(c.Before)
			}
			before.parse(c.Path, b)
			left := leftOut(c)
			if left && c.Before == nil { // tests that come here from another file are gone
				continue
			}
			if after.parse(c.Path, a); left {
				after.all = append(after.all, &goFunction{unit: unit{path: c.Path, counts: counts{off: 1}}, done: true})
			}
		}
		p.weigh(before.units(), after.units())
		p.faked(before, after)
		if pass := len(p.weaker)+len(p.edited) == len(weaker)+len(edited); !cut || pass && !before.broken && !after.broken {
			return
		}
	}
}

const function = "\nfunc "

// differing leaves out the functions that both sides of a file have, where what is left can stand alone.
func differing(before, after string) (string, string) {
	b, a := strings.Split(before, function), strings.Split(after, function)
	lost, gained := difference(b[1:], a[1:], func(s string) string { return s })
	rest := strings.Join(lost, "") + strings.Join(gained, "")
	if b[0] != a[0] {
		rest += b[0] + a[0]
	}
	odd := func(part string) bool { return strings.Count(part, "`")%2 == 1 }
	if strings.Contains(before+after, "\nvar ") || strings.Contains(rest, "\nconst ") ||
		strings.Contains(rest, "\ntype ") || strings.Contains(rest, "/*") || strings.Contains(rest, "*/") ||
		strings.Count(before, "`") != strings.Count(after, "`") || slices.ContainsFunc(b, odd) || slices.ContainsFunc(a, odd) {
		return before, after
	}
	alone := func(parts []string) string { return strings.Join(append([]string{"package p\n"}, parts...), function) }
	return alone(lost), alone(gained)
}

// goSide are the Go files of one side of a patch: its functions, those that are no tests by their name, and the values of its
// packages.
type goSide struct {
	set     *token.FileSet
	all     []*goFunction
	helpers map[string]*goFunction
	values  map[string]ast.Expr
	// types are those of the files, callees the functions of the package under test that are called.
	types, callees map[string]bool
	// broken reports that the parser cannot read a file. It has no functions.
	broken bool
}

func newSide() *goSide {
	return &goSide{
		set: token.NewFileSet(), helpers: map[string]*goFunction{}, values: map[string]ast.Expr{},
		types: map[string]bool{}, callees: map[string]bool{},
	}
}

// parse notes the functions and values of a file.
func (s *goSide) parse(name, content string) {
	if content == "" {
		return
	}
	file, err := parser.ParseFile(s.set, name, content, parser.SkipObjectResolution)
	if err != nil {
		s.broken = true
		return
	}
	f := goFile{name, content, file.FileStart, strings.HasSuffix(name, "_test.go")}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, one := range d.Specs {
				s.declare(f, one)
			}
		case *ast.FuncDecl:
			test := testName.MatchString(d.Name.Name)
			if d.Body == nil || test && !f.tests {
				continue
			}
			g := s.function(f, d, d.Name.Name, test)
			if s.helpers[g.name] == nil && !test {
				s.helpers[g.name] = g
			}
		}
	}
}

// goFile is a file whose text begins at base.
type goFile struct {
	path, text string
	base       token.Pos
	tests      bool
}

func (s *goSide) function(f goFile, d *ast.FuncDecl, name string, test bool) *goFunction {
	none := func() map[string]bool { return map[string]bool{} }
	g := &goFunction{
		unit: unit{path: f.path, name: name, test: test}, side: s, decl: d, text: f.text, base: f.base, times: 1,
		closures: map[string]*goFunction{}, used: none(), rows: none(), locals: none(), swapped: none(), callees: none(),
		makers: none(),
	}
	s.all = append(s.all, g)
	return g
}

// declare notes the values and types of a file. What ginkgo's var _ = Describe("…", func() { … }) calls is one test.
func (s *goSide) declare(f goFile, one ast.Spec) {
	switch one := one.(type) {
	case *ast.TypeSpec:
		s.types[one.Name.Name] = true
	case *ast.ValueSpec:
		if len(one.Names) != 1 || len(one.Values) != 1 {
			return
		}
		v := one.Values[0]
		s.values[one.Names[0].Name] = v
		if c, ok := v.(*ast.CallExpr); ok && f.tests && one.Names[0].Name == "_" {
			body := &ast.BlockStmt{Lbrace: v.Pos(), List: []ast.Stmt{&ast.ExprStmt{X: v}}, Rbrace: v.End() - 1}
			d := &ast.FuncDecl{Name: one.Names[0], Type: &ast.FuncType{Func: v.Pos(), Params: &ast.FieldList{}}, Body: body}
			title, _, _ := strings.Cut(f.text[v.Pos()-f.base:v.End()-f.base], "\n")
			s.function(f, d, title, len(c.Args) > 1)
		}
	}
}

// units are the functions as tests, and as helpers whose assertions count where no test of the patch calls them.
func (s *goSide) units() []unit {
	for _, g := range s.all {
		g.read()
	}
	out := make([]unit, 0, len(s.all))
	for _, g := range s.all {
		if g.test {
			g.counts[tests], g.counts[cases] = 1, max(1, g.counts[cases])
		} else if g.counts[cases] = 0; g.called || g.suite {
			g.counts.silence()
		}
		g.counts[certain] = g.counts[assertions] - g.counts[doubts]
		out = append(out, g.unit)
	}
	return out
}

var mocks = re(`(?i)mock|fake|stub`)

// faked finds a type that a test file has in place of what it tested: its tests call fewer functions of their package, and no new
// one.
func (p *Patch) faked(before, after *goSide) {
	ours := func(s *goSide) map[string]bool {
		out := maps.Clone(s.callees)
		maps.DeleteFunc(out, func(name string, _ bool) bool {
			return mocks.MatchString(name) || s.helpers[name] != nil || s.types[name] || types.Universe.Lookup(name) != nil
		})
		return out
	}
	had, has := ours(before), ours(after)
	brings := func(was, is map[string]bool) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(is)), func(name string) bool { return was[name] })
	}
	lost, fresh := brings(has, had), brings(before.types, after.types)
	if len(lost) > 0 && len(fresh) > 0 && len(brings(had, has)) == 0 {
		p.weaker = append(p.weaker, at("", 0, "no test calls %s any more, and the tests define %s", lost[0], fresh[0]))
	}
}

var (
	constraint = re(`(?m)^(?:(?://go:build|// ?\+build) (.*)$|package )`)
	// testName is what the go command takes for a test.
	testName = re(`^(?:Test|Fuzz|Example)(?:\P{Ll}|$)`)
	output   = re(`(?mi)^\s*//\s*(?:unordered )?output:`) // without it an example is not run
)

// leftOut reports whether the go command compiles a file no more, without further tags, by its name and its constraints. One that
// it did not compile before either is not left out.
func leftOut(c Change) bool {
	if c.After == nil || c.Before != nil && constraintOf(c.Before) == constraintOf(c.After) {
		return false
	}
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled, context.JoinPath = "linux", "amd64", true, path.Join
	context.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.After)), nil }
	ok, err := context.MatchFile(".", path.Base(c.Path))
	return !ok || err != nil
}

// constraintOf is the build constraint before the package clause, also an old one.
func constraintOf(content []byte) string {
	if m := constraint.FindSubmatch(content); m != nil {
		return string(bytes.TrimSpace(m[1]))
	}
	return ""
}
