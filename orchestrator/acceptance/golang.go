package acceptance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
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
		strings.Contains(rest, "/*") || strings.Contains(rest, "*/") ||
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
	// broken reports that the parser cannot read a file. It has no functions.
	broken bool
}

func newSide() *goSide {
	return &goSide{set: token.NewFileSet(), helpers: map[string]*goFunction{}, values: map[string]ast.Expr{}}
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
	inTest := strings.HasSuffix(name, "_test.go")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, one := range d.Specs {
				if v, ok := one.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					s.values[v.Names[0].Name] = v.Values[0]
				}
			}
		case *ast.FuncDecl:
			test := testName.MatchString(d.Name.Name)
			if d.Body == nil || test && !inTest {
				continue
			}
			g := &goFunction{
				unit: unit{path: name, name: d.Name.Name, test: test}, side: s, decl: d, text: content, base: file.FileStart,
				used: map[string]bool{}, closures: map[string]*goFunction{}, times: 1,
			}
			s.all = append(s.all, g)
			if s.helpers[g.name] == nil && !test {
				s.helpers[g.name] = g
			}
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
			g.counts[assertions], g.counts[exact] = 0, 0
		}
		out = append(out, g.unit)
	}
	return out
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
