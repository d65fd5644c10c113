package mutant

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// chooser is the name of the file of a package with the functions that choose a mutant.
const chooser = "divisi_mutants.go"

// Go puts mutants into the Go files of one directory. files hold source by path; wanted reports whether a mutant, which has no
// number yet, is one. first is the number of the first mutant. The result has the files with mutants and one beside them that
// chooses. Constants that are texts differ in what fold names.
func Go(files map[string][]byte, first int, fold Fold, wanted func(Mutant) bool) (
	mutated map[string][]byte, mutants []Mutant, err error,
) {
	mutated = map[string][]byte{}
	values := constantsOf(files, fold)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		g := &goFile{
			path: file, source: files[file], set: token.NewFileSet(), wanted: wanted, first: first + len(mutants),
			values: values, fold: fold,
		}
		pkg, err := g.mutate()
		if err != nil {
			return nil, nil, fmt.Errorf("read %s for mutants: %w", file, err)
		}
		if len(g.mutants) > 0 {
			mutated[file] = g.text()
			mutated[path.Join(path.Dir(file), chooser)] = []byte("package " + pkg + goChooser)
			mutants = append(mutants, g.mutants...)
		}
	}
	return mutated, mutants, nil
}

// goChooser is the body of the file that chooses.
const goChooser = `

import (
	divisiErrors "errors"
	divisiFmt "fmt"
	divisiOS "os"
	divisiConv "strconv"
	divisiSync "sync"
	divisiAtomic "sync/atomic"
)

var (
	divisiChosen, _ = divisiConv.Atoi(divisiOS.Getenv("` + Var + `"))
	divisiSeen      = divisiOS.Getenv("` + SeenVar + `")
	divisiRuns      divisiSync.Map
)

func divisiError() error { return divisiErrors.New("another error") }

func divisiMutant(n int) bool { return divisiMutants(n, n) }

func divisiMutants(from, to int) bool {
	if divisiSeen != "" {
		count, ok := divisiRuns.Load(from)
		if !ok {
			count, _ = divisiRuns.LoadOrStore(from, new(divisiAtomic.Int64))
		}
		if n := count.(*divisiAtomic.Int64).Add(1); n&(n-1) == 0 {
			divisiTell(from, to, n)
		}
	}
	return from <= divisiChosen && divisiChosen <= to
}

func divisiTell(from, to int, times int64) {
	f, err := divisiOS.OpenFile(divisiSeen, divisiOS.O_APPEND|divisiOS.O_CREATE|divisiOS.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	for n := from; n <= to; n++ {
		divisiFmt.Fprintln(f, n, times)
	}
}
`

// goFile is one file with its mutants. Statements are changed as a whole: Go infers types in them, which a changed part of an
// expression would need to name.
type goFile struct {
	path    string
	source  []byte
	set     *token.FileSet
	wanted  func(Mutant) bool
	first   int
	mutants []Mutant
	edits   []edit
	fun     *ast.FuncType
	name    string
	// values are other values of constants, by their names.
	values map[string]string
	fold   Fold
}

// constantsOf are other values of constants, and of those of a package that have one of their own.
func constantsOf(files map[string][]byte, fold Fold) map[string]string {
	values := map[string]string{"true": "false", "false": "true"}
	for name, source := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			continue // it is reported when it gets its mutants
		}
		for _, d := range parsed.Decls {
			of, ok := d.(*ast.GenDecl)
			for i := 0; ok && of.Tok == token.CONST && i < len(of.Specs); i++ {
				spec, isValue := of.Specs[i].(*ast.ValueSpec)
				if !isValue || len(spec.Names) != 1 || len(spec.Values) != 1 {
					continue
				}
				if literal, isLiteral := spec.Values[0].(*ast.BasicLit); isLiteral {
					values[spec.Names[0].Name] = constant(literal, fold)
				}
			}
		}
	}
	return values
}

// edit is text that stands before a byte of the source.
type edit struct {
	at   int
	text string
	// order is the place among edits before the same byte.
	order int
	// mutants are the numbers of those that it makes.
	mutants []int
}

func (g *goFile) mutate() (pkg string, err error) {
	file, err := parser.ParseFile(g.set, g.path, g.source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && d.Name.Name != "init" {
				g.name = goName(d)
				g.body(d.Type, d.Body)
			}
		case *ast.GenDecl:
			g.variables(d)
		}
	}
	return file.Name.Name, nil
}

// variables gives those of the package that have a value another one when it is loaded.
func (g *goFile) variables(d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || d.Tok != token.VAR || len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].Name == "_" {
			continue
		}
		g.name = v.Names[0].Name
		for _, other := range spread(g.variants(v.Values[0]), mostOfVariable) {
			changed := g.name + " = " + other.text
			if n := g.add(other.kind, v, changed); n > 0 {
				chosen := fmt.Sprintf("\nfunc init() { if divisiMutant(%d) { %s } }\n", n, changed)
				g.edits = append(g.edits, edit{len(g.source), chosen, len(g.edits), []int{n}})
			}
		}
	}
}

// mostOfVariable bounds the mutants of a variable of the package: it can be a table.
const mostOfVariable = 8

func goName(fun *ast.FuncDecl) string {
	if fun.Recv == nil || len(fun.Recv.List) == 0 {
		return fun.Name.Name
	}
	t := fun.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
			continue
		case *ast.IndexExpr:
			t = of.X
			continue
		case *ast.IndexListExpr:
			t = of.X
			continue
		case *ast.Ident:
			return of.Name + "." + fun.Name.Name
		}
		return fun.Name.Name
	}
}

func (g *goFile) body(fun *ast.FuncType, body *ast.BlockStmt) {
	outer := g.fun
	g.fun = fun
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			g.body(n.Type, n.Body)
			return false
		case *ast.BlockStmt:
			g.list(n.List)
		case *ast.CaseClause:
			g.list(n.Body)
		case *ast.CommClause:
			g.list(n.Body)
		case *ast.SwitchStmt:
			g.cases(n)
		case *ast.IfStmt:
			g.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				g.condition(n.Cond)
			}
		}
		return true
	})
	g.fun = outer
}

// cases are the conditions of a switch without a value.
func (g *goFile) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, c := range s.Body.List {
		if c, ok := c.(*ast.CaseClause); ok {
			for _, e := range c.List {
				g.condition(e)
			}
		}
	}
}

// text is the file with all mutants.
func (g *goFile) text() []byte {
	slices.SortStableFunc(g.edits, func(a, b edit) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var b bytes.Buffer
	last, line := 0, 1
	for _, e := range g.edits {
		b.Write(g.source[last:e.at])
		line += bytes.Count(g.source[last:e.at], []byte("\n"))
		for _, n := range e.mutants {
			m := &g.mutants[n-g.first]
			m.from = min(cmp.Or(m.from, line), line)
			m.to = max(m.to, line+strings.Count(e.text, "\n"))
		}
		line += strings.Count(e.text, "\n")
		b.WriteString(e.text)
		last = e.at
	}
	b.Write(g.source[last:])
	return b.Bytes()
}
