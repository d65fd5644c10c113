package mutant

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func (g *goFile) list(statements []ast.Stmt) {
	for _, s := range statements {
		if s.End()-s.Pos() > maxText {
			continue
		}
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
	if cond.End()-cond.Pos() > maxText {
		return
	}
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
			variants = slices.Concat(g.returns(e, types[i]), variants)
		}
		for _, v := range variants {
			if left > 0 && g.instead(v.kind, s, splice(g, s, e, v.text)) {
				left--
			}
		}
		if i > 0 && len(types) == len(s.Results) && g.of(types[i-1]) == g.of(types[i]) && g.of(s.Results[i-1]) != g.of(e) {
			g.instead(Returned, s, g.swapped(s, i))
		}
	}
}

// instead has another statement run in place of one that ends a function, and reports whether it is a mutant.
func (g *goFile) instead(kind Kind, s *ast.ReturnStmt, other string) bool {
	n := g.add(kind, s, other)
	if n > 0 {
		g.before(s, fmt.Sprintf("if divisiMutant(%d) { %s }; ", n, other), n)
	}
	return n > 0
}

// swapped returns a value in the place of the one before it, and that in its place.
func (g *goFile) swapped(s *ast.ReturnStmt, i int) string {
	var values []string
	for _, e := range s.Results {
		values = append(values, g.of(e))
	}
	values[i-1], values[i] = values[i], values[i-1]
	return "return " + strings.Join(values, ", ")
}

// returns are other values of a type in place of a returned one.
func (g *goFile) returns(e, of ast.Expr) []variant {
	list := g.zero(e, of)
	name, named := of.(*ast.Ident)
	_, literal := e.(*ast.BasicLit)
	text := g.of(e)
	if _, several := e.(*ast.BinaryExpr); several {
		text = "(" + text + ")"
	}
	switch {
	case !named:
	case name.Name == "error":
		list = append(list, variant{Failure, anotherError})
	case literal || !slices.Contains(numeric, name.Name):
	case strings.HasPrefix(name.Name, "float"):
		list = append(list, variant{Returned, text + " + 0.01"})
	default:
		list = append(list, variant{Returned, text + " + 1"})
	}
	return list
}

// anotherError is an error that the file which chooses has.
const anotherError = "divisiError()"

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
	default:
		value = "*new(" + g.of(of) + ")"
		switch t := of.(type) {
		case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.InterfaceType, *ast.ChanType:
			value = "nil"
		case *ast.ArrayType:
			if t.Len == nil {
				value = "nil"
			}
		}
	}
	if _, literal := e.(*ast.BasicLit); text == value || text == "nil" || text == g.of(of)+"{}" || literal && value[0] == '*' {
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
