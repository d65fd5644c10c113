package acceptance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// builds reports whether the go command compiles a file without further tags, by its name and its constraints.
func builds(name string, content []byte) bool {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.JoinPath = "linux", "amd64", true, path.Join
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	ok, err := c.MatchFile(".", path.Base(name))
	return ok && err == nil
}

var (
	constraint = re(`(?m)^(?://go:build|// ?\+build) (.*)$`)
	output     = re(`(?mi)^\s*//\s*(?:unordered )?output:`) // without it an example is not run
)

// isTestName reports whether the go command takes a function for a test by its name.
func isTestName(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}

// goFile is a Go file of one side of a patch, or the functions of it that differ.
type goFile struct {
	path string
	text []byte
	// first is the number of the first line of the text.
	first int
}

// goSide has the Go test files of one side of a patch.
type goSide struct {
	helpers map[string]*goFunction
	tables  map[string]ast.Expr
	all     []*goFunction
}

// goUnits reads the tests and helpers of Go files. A file that the parser cannot read has none; ok reports that all can be read.
func goUnits(files []goFile) (units []unit, ok bool) {
	s := &goSide{helpers: map[string]*goFunction{}, tables: map[string]ast.Expr{}}
	ok = true
	parsed := make([]*ast.File, len(files))
	sets := make([]*token.FileSet, len(files))
	for i, f := range files {
		sets[i] = token.NewFileSet()
		file, err := parser.ParseFile(sets[i], "", f.text, parser.SkipObjectResolution)
		if ok = ok && err == nil; err == nil {
			parsed[i] = file
			s.declare(file)
		}
	}
	for i, file := range parsed {
		if file != nil {
			s.read(files[i], sets[i], file)
		}
	}
	for _, f := range s.all {
		f.resolve(s, 0)
	}
	for _, f := range s.all {
		units = append(units, f.unit())
	}
	return units, ok
}

// declare notes the tables of a file, and the helpers whose calls count for what they assert.
func (s *goSide) declare(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, one := range d.Specs {
				if v, ok := one.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					s.tables[v.Names[0].Name] = v.Values[0]
				}
			}
		case *ast.FuncDecl:
			if !isTestName(d.Name.Name) {
				s.helpers[d.Name.Name] = &goFunction{}
			}
		}
	}
}

func (s *goSide) read(file goFile, set *token.FileSet, parsed *ast.File) {
	isTest := strings.HasSuffix(file.path, "_test.go")
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !isTest && isTestName(f.Name.Name) {
			continue
		}
		g := &goFunction{}
		if h := s.helpers[f.Name.Name]; h != nil && h.side == nil {
			g = h
		}
		*g = goFunction{
			side: s, path: file.path, name: f.Name.Name, text: file.text, base: parsed.FileStart, times: 1,
			line: func(at token.Pos) int { return set.PositionFor(at, false).Line + file.first - 1 },
			test: isTest && isTestName(f.Name.Name), used: map[string]bool{}, at: f.Pos(),
		}
		ast.Inspect(f, g.parameters)
		g.block(f.Body)
		g.finish(g.source(f))
		s.all = append(s.all, g)
	}
}

// parameters notes names such as t of t *testing.T.
func (g *goFunction) parameters(n ast.Node) bool {
	if f, ok := n.(*ast.Field); ok && len(f.Names) > 0 {
		kind := f.Type
		if p, ok := kind.(*ast.StarExpr); ok {
			kind = p.X
		}
		if strings.HasPrefix(name(kind), "testing.") {
			g.testing = append(g.testing, f.Names[0].Name)
		}
	}
	return true
}

// finish adds what the whole function tells: an example's output, a TestMain that runs nothing, and the values that assertions
// use.
func (g *goFunction) finish(own []byte) {
	var at []int
	if g.test && g.name[0] == 'E' {
		at = output.FindIndex(own)
	}
	if at != nil {
		g.counts[assertions], g.counts[exact] = g.counts[assertions]+1, g.counts[exact]+1
		for l := range strings.Lines(string(own[at[1]:])) {
			g.literals = append(g.literals, literal{'o', strings.TrimSpace(strings.TrimLeft(l, " \t/")), g.line(g.at)})
		}
	}
	if g.name == "TestMain" {
		if g.test = false; !g.runs {
			g.counts[off]++
		}
	}
	for _, a := range g.assigned {
		if g.used[a.name] {
			g.values(a.value)
		}
	}
}

// resolve adds what the helpers assert that a function calls, once for each call.
func (g *goFunction) resolve(s *goSide, depth int) {
	if g.resolved || depth > 8 {
		return
	}
	g.resolved = true
	for _, c := range g.calls {
		h := c.closure
		if h == nil && s.helpers[c.name] != nil && s.helpers[c.name].side != nil {
			h = s.helpers[c.name]
		}
		if h == nil {
			g.counts[assertions] += c.times * c.weight
			g.counts[exact] += c.times * c.weight
			continue
		}
		h.resolve(s, depth+1)
		h.called = true
		g.counts[assertions] += c.times * h.counts[assertions]
		g.counts[exact] += c.times * h.counts[exact]
	}
	for _, c := range g.closures {
		c.resolve(s, depth+1)
		own := c.counts
		if c.called {
			own[assertions], own[exact] = 0, 0
		}
		g.counts.add(own)
		g.literals = append(g.literals, c.literals...)
	}
}

// unit is the function as a test, or as a helper whose assertions count where no test of the patch calls it.
func (g *goFunction) unit() unit {
	u := unit{path: g.path, name: g.name, line: g.line(g.at), counts: g.counts, literals: g.literals, test: g.test && !g.suite}
	if !u.test {
		u.counts[cases] = 0
	}
	switch {
	case u.test:
		u.counts[tests], u.counts[cases] = 1, max(1, u.counts[cases])
		if u.counts[assertions] == 0 {
			u.counts[empty] = 1
		}
	case g.called || g.suite:
		u.counts[assertions], u.counts[exact] = 0, 0
	}
	return u
}

// goFiles returns the changed Go files of both sides. Unless they are wanted whole, functions that are the same on both sides are
// left out, where what is left can stand alone.
func goFiles(changes []Change, whole bool) (before, after []goFile) {
	for _, c := range changes {
		b, a := goFile{c.Path, c.Before, 1}, goFile{c.Path, c.After, 1}
		if !whole && c.Before != nil && c.After != nil {
			b, a = trim(b, a)
		}
		if c.Before != nil {
			before = append(before, b)
		}
		if c.After != nil {
			after = append(after, a)
		}
	}
	return before, after
}

var function = []byte("\nfunc ")

// trim leaves the functions out that two files begin and end with.
func trim(b, a goFile) (goFile, goFile) {
	x, y := b.text, a.text
	n := shared(len(x), len(y), func(i int) bool { return x[i] == y[i] })
	from := bytes.LastIndex(x[:n], function) + 1
	start := x[:from]
	commented := bytes.LastIndex(start, []byte("/*")) > bytes.LastIndex(start, []byte("*/"))
	if from == 0 || commented || bytes.Count(start, []byte("`"))%2 == 1 {
		return b, a
	}
	x, y = x[from:], y[from:]
	n = shared(len(x), len(y), func(i int) bool { return x[len(x)-1-i] == y[len(y)-1-i] })
	if at := bytes.Index(x[len(x)-n:], function); at >= 0 {
		x, y = x[:len(x)-n+at], y[:len(y)-n+at]
	}
	for _, other := range []string{"\nvar ", "\nconst ", "\ntype "} {
		if bytes.Contains(x, []byte(other)) || bytes.Contains(y, []byte(other)) {
			return b, a
		}
	}
	first := bytes.Count(start, []byte{'\n'})
	alone := func(f goFile, part []byte) goFile {
		return goFile{f.path, append([]byte("package p\n"), part...), first}
	}
	return alone(b, x), alone(a, y)
}

// leftOut counts the Go files whose tests do not run any more, and takes away those that come here and do not run.
func leftOut(c Change) (lost, gone bool) {
	switch {
	case c.After == nil:
		return false, false
	case c.Before == nil: // tests that come here from another file run no more
		return false, !builds(c.Path, c.After)
	case sameConstraint(c.Before, c.After):
		return false, false
	}
	return !builds(c.Path, c.After), false
}

// sameConstraint compares build constraints, also an old one with the new one that says the same.
func sameConstraint(before, after []byte) bool {
	b, a := constraint.FindSubmatch(head(before)), constraint.FindSubmatch(head(after))
	return b == nil && a == nil || b != nil && a != nil && bytes.Equal(bytes.TrimSpace(b[1]), bytes.TrimSpace(a[1]))
}

// head is what comes before the package clause.
func head(content []byte) []byte {
	if bytes.HasPrefix(content, []byte("package ")) {
		return nil
	}
	return content[:max(0, bytes.Index(content, []byte("\npackage ")))]
}
