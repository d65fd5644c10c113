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
// chooses.
func Go(files map[string][]byte, first int, wanted func(Mutant) bool) (mutated map[string][]byte, mutants []Mutant, err error) {
	mutated = map[string][]byte{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		g := &goFile{path: file, source: files[file], set: token.NewFileSet(), wanted: wanted, first: first + len(mutants)}
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
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	divisiChosen, _ = strconv.Atoi(os.Getenv("` + Var + `"))
	divisiSeen      = os.Getenv("` + SeenVar + `")
	divisiOnce      sync.Map
)

func divisiMutant(n int) bool { return divisiMutants(n, n) }

func divisiMutants(from, to int) bool {
	if divisiSeen != "" {
		if _, seen := divisiOnce.LoadOrStore(from, true); !seen {
			divisiTell(from, to)
		}
	}
	return from <= divisiChosen && divisiChosen <= to
}

func divisiTell(from, to int) {
	f, err := os.OpenFile(divisiSeen, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	for n := from; n <= to; n++ {
		fmt.Fprintln(f, n)
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
		if fun, ok := d.(*ast.FuncDecl); ok && fun.Body != nil && fun.Name.Name != "init" {
			g.name = goName(fun)
			g.body(fun.Type, fun.Body)
		}
	}
	return file.Name.Name, nil
}

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

func (g *goFile) list(statements []ast.Stmt) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			g.returned(s)
		case *ast.ExprStmt:
			g.call(s)
		case *ast.AssignStmt:
			g.assigned(s)
		case *ast.IncDecStmt:
			g.counted(s)
		}
	}
}

// add keeps a mutant of a statement, and returns its number; 0 where the line is not wanted.
func (g *goFile) add(kind Kind, at ast.Node, changed string) int {
	m := Mutant{
		Kind: kind, File: g.path, Func: g.name, Line: g.set.PositionFor(at.Pos(), false).Line, Old: g.of(at), New: changed,
	}
	if !g.wanted(m) {
		return 0
	}
	m.Number = g.first + len(g.mutants)
	g.mutants = append(g.mutants, m)
	return m.Number
}

func (g *goFile) of(n ast.Node) string { return string(g.source[g.offset(n.Pos()):g.offset(n.End())]) }

func (g *goFile) offset(p token.Pos) int { return g.set.PositionFor(p, false).Offset }

// before puts text before a node, after behind it, for the mutants with the numbers.
func (g *goFile) before(n ast.Node, text string, numbers ...int) {
	g.edits = append(g.edits, edit{g.offset(n.Pos()), text, len(g.edits), numbers})
}

func (g *goFile) after(n ast.Node, text string, numbers ...int) {
	g.edits = append(g.edits, edit{g.offset(n.End()), text, -len(g.edits), numbers})
}

// condition wraps a condition: the mutants of it that are chosen, or the condition itself.
func (g *goFile) condition(cond ast.Expr) {
	variants := g.variants(cond)
	if _, ok := cond.(*ast.BinaryExpr); !ok || len(variants) == 0 {
		variants = append([]variant{{Condition, "!(" + g.of(cond) + ")"}}, variants...)
	}
	var numbers []int
	var chosen strings.Builder
	for _, v := range variants[:min(len(variants), most)] {
		if n := g.add(v.kind, cond, v.text); n > 0 {
			numbers = append(numbers, n)
			fmt.Fprintf(&chosen, " || divisiMutant(%d) && bool(%s)", n, v.text)
		}
	}
	if len(numbers) == 0 {
		return
	}
	g.before(cond, fmt.Sprintf("!divisiMutants(%d, %d) && bool(", numbers[0], numbers[len(numbers)-1]), numbers...)
	g.after(cond, ")"+chosen.String(), numbers...)
}

// returned has a statement return other values.
func (g *goFile) returned(s *ast.ReturnStmt) {
	types := results(g.fun)
	left := most
	for i, e := range s.Results {
		variants := g.variants(e)
		if len(types) == len(s.Results) {
			variants = append(g.zero(e, types[i]), variants...)
		}
		for _, v := range variants {
			changed := splice(g, s, e, v.text)
			n := 0
			if left > 0 {
				n = g.add(v.kind, s, changed)
			}
			if n > 0 {
				left--
				g.before(s, fmt.Sprintf("if divisiMutant(%d) { %s }; ", n, changed), n)
			}
		}
	}
}

// results are the types that a function returns, one for each value.
func results(fun *ast.FuncType) (types []ast.Expr) {
	if fun.Results == nil {
		return nil
	}
	for _, f := range fun.Results.List {
		for range max(1, len(f.Names)) {
			types = append(types, f.Type)
		}
	}
	return types
}

// zero is a returned value made the zero of its type, or the opposite of a bool.
func (g *goFile) zero(e, of ast.Expr) []variant {
	text := g.of(e)
	name, named := of.(*ast.Ident)
	var value string
	kind := Returned
	switch {
	case named && name.Name == "error":
		value, kind = "nil", Failure
	case named && name.Name == "bool":
		if text == "true" || text == "false" {
			return nil // a constant
		}
		value = "!(" + text + ")"
	case named && name.Name == "string":
		value = `""`
	case named && slices.Contains(numeric, name.Name):
		value = "0"
	case named && name.Name == "any":
		value = "nil"
	case named:
		return nil
	default:
		switch t := of.(type) {
		case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.InterfaceType, *ast.ChanType:
			value = "nil"
		case *ast.ArrayType:
			if t.Len != nil {
				return nil
			}
			value = "nil"
		default:
			return nil
		}
	}
	if text == value {
		return nil
	}
	return []variant{{kind, value}}
}

var numeric = strings.Fields("int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float32 float64")

// untouched are calls without which a program hangs or ends otherwise than by a test.
var untouched = strings.Fields("panic Lock Unlock RLock RUnlock Wait Done Add Close Exit Fatal Fatalf Fatalln Goexit")

// call leaves a call out.
func (g *goFile) call(s *ast.ExprStmt) {
	call, ok := s.X.(*ast.CallExpr)
	if !ok {
		return
	}
	var name string
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		name = fun.Sel.Name
	}
	if slices.Contains(untouched, name) {
		return
	}
	if n := g.add(Call, s, ""); n > 0 {
		g.before(s, fmt.Sprintf("if !divisiMutant(%d) { ", n), n)
		g.after(s, " }", n)
	}
}

// assigned gives a variable another value after its own.
func (g *goFile) assigned(s *ast.AssignStmt) {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 || !simple(s.Lhs[0]) {
		return
	}
	left := g.of(s.Lhs[0])
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		to, ok := map[token.Token]string{
			token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "+=", token.QUO_ASSIGN: "*=",
			token.OR_ASSIGN: "&=", token.AND_ASSIGN: "|=",
		}[s.Tok]
		if !ok && s.Tok != token.ADD_ASSIGN {
			return
		}
		changed := left + " " + to + " " + g.of(s.Rhs[0])
		if !ok {
			changed = ""
		}
		if n := g.add(Constant, s, changed); n > 0 {
			g.before(s, fmt.Sprintf("if divisiMutant(%d) { %s } else { ", n, changed), n)
			g.after(s, " }", n)
		}
		return
	}
	left += " = "
	for _, v := range limited(g.variants(s.Rhs[0])) {
		if n := g.add(v.kind, s, left+v.text); n > 0 {
			g.after(s, fmt.Sprintf("; if divisiMutant(%d) { %s }", n, left+v.text), n)
		}
	}
}

// simple reports whether an expression can be assigned to twice: it calls nothing, and is no blank.
func simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "_"
	case *ast.SelectorExpr:
		return simple(e.X)
	default:
		return false
	}
}

func (g *goFile) counted(s *ast.IncDecStmt) {
	changed := g.of(s.X) + "--"
	if s.Tok == token.DEC {
		changed = g.of(s.X) + "++"
	}
	if n := g.add(Constant, s, changed); n > 0 {
		g.before(s, fmt.Sprintf("if divisiMutant(%d) { %s } else { ", n, changed), n)
		g.after(s, " }", n)
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
