package mutant

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// variant is another text for an expression.
type variant struct {
	kind Kind
	text string
}

func limited(variants []variant) []variant { return variants[:min(len(variants), most)] }

// others are operators in place of others; each pair takes values of all types that the first takes.
var others = map[token.Token]struct {
	kind Kind
	to   string
}{
	token.LSS: {Boundary, "<="}, token.LEQ: {Boundary, "<"}, token.GTR: {Boundary, ">="}, token.GEQ: {Boundary, ">"},
	token.EQL: {Condition, "!="}, token.NEQ: {Condition, "=="}, token.LAND: {Condition, "||"}, token.LOR: {Condition, "&&"},
	token.SUB: {Constant, "+"}, token.MUL: {Constant, "+"}, token.QUO: {Constant, "*"}, token.REM: {Constant, "*"},
}

// maxText bounds, in bytes, an expression or a statement with variants: each of them repeats its text.
const maxText = 4 << 10

// variants are an expression with one part changed: an operator, a constant, an element. Types, function literals and keys stay.
func (g *goFile) variants(e ast.Expr) (list []variant) {
	if e.End()-e.Pos() > maxText {
		return nil
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.ArrayType, *ast.StructType, *ast.InterfaceType:
			return false
		case *ast.KeyValueExpr:
			for _, v := range g.variants(n.Value) {
				list = append(list, variant{v.kind, splice(g, e, n.Value, v.text)})
			}
			return false
		case *ast.BinaryExpr:
			g.operator(e, n, &list)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				list = append(list, variant{Condition, splice(g, e, n, g.of(n.X))})
			}
		case *ast.Ident:
			if to := g.values[n.Name]; to != "" && g.source[g.offset(n.Pos())-1] != '.' {
				list = append(list, variant{Constant, splice(g, e, n, to)})
			}
		case *ast.BasicLit:
			if to := constant(n, g.fold); to != "" {
				list = append(list, variant{Constant, splice(g, e, n, to)})
			}
		case *ast.CompositeLit:
			g.element(e, n, &list)
		}
		return true
	})
	return list
}

func (g *goFile) operator(e ast.Expr, n *ast.BinaryExpr, list *[]variant) {
	at, end := g.offset(n.OpPos)-g.offset(e.Pos()), g.offset(n.OpPos)-g.offset(e.Pos())+len(n.Op.String())
	text := g.of(e)
	to, ok := others[n.Op]
	if !ok && n.Op == token.ADD && (number(n.X) || number(n.Y)) {
		to.kind, to.to, ok = Constant, "-", true
	}
	if ok {
		*list = append(*list, variant{to.kind, text[:at] + to.to + text[end:]})
	}
}

func number(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && (lit.Kind == token.INT || lit.Kind == token.FLOAT)
}

// constant is another constant of the same type; "" for none.
func constant(n *ast.BasicLit, fold Fold) string {
	switch n.Kind {
	case token.INT:
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil && i < 1<<62 {
			return strconv.FormatInt(i+1, 10)
		}
	case token.STRING:
		text, err := strconv.Unquote(n.Value)
		if other := fold.Of(text); err == nil && other != "" {
			return strconv.Quote(other)
		}
		if last := strings.LastIndexByte(strings.TrimSpace(text), ' '); err == nil && last > 0 {
			return strconv.Quote(text[:last]) // a part of it is less than all
		}
		if text == "" {
			return `"x"`
		}
		return `""`
	}
	return ""
}

// element leaves the last element of a list out.
func (g *goFile) element(e ast.Expr, n *ast.CompositeLit, list *[]variant) {
	if len(n.Elts) < 2 {
		return
	}
	switch t := n.Type.(type) {
	case *ast.MapType:
	case *ast.ArrayType:
		if t.Len != nil {
			return
		}
	default:
		return
	}
	before, last := n.Elts[len(n.Elts)-2], n.Elts[len(n.Elts)-1]
	text, from := g.of(e), g.offset(e.Pos())
	*list = append(*list, variant{Element, text[:g.offset(before.End())-from] + text[g.offset(last.End())-from:]})
}

// splice is the text of a node in which a part has another text.
func splice(g *goFile, of, part ast.Node, text string) string {
	whole, from := g.of(of), g.offset(of.Pos())
	return whole[:g.offset(part.Pos())-from] + text + whole[g.offset(part.End())-from:]
}
