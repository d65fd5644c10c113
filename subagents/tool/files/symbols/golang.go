package symbols

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"

	"divisi/internal/text"
)

// Go outlines a Go file, also where the code has errors; docs adds the first line of each doc comment.
func Go(data []byte, docs bool) (out File) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", data, parser.ParseComments|parser.AllErrors|parser.SkipObjectResolution)
	if file == nil {
		return File{Note: fmt.Sprintf("it cannot be parsed: %v", err)}
	}
	s := &goSource{data: data, file: set.File(file.FileStart), docs: docs}
	for _, d := range file.Decls {
		s.declaration(d)
	}
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		out.Note = fmt.Sprintf("line %d: %s. The file has syntax errors (%d); only what could be parsed is shown",
			list[0].Pos.Line, list[0].Msg, len(list))
	}
	if file.Name != nil {
		out.Head = "package " + file.Name.Name
	}
	out.Symbols = s.symbols
	return out
}

// goSource is a Go file on its way to an outline. What it shows of declarations is their own text: nothing has to be printed
// again, however deep it is nested.
type goSource struct {
	data    []byte
	file    *token.File
	docs    bool
	symbols []Symbol
}

func (s *goSource) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.add(d, s.text(d.Pos(), d.Type.End()), d.Doc)
	case *ast.GenDecl:
		for _, one := range d.Specs {
			s.spec(d, one)
		}
	}
}

func (s *goSource) spec(d *ast.GenDecl, one ast.Spec) {
	var at ast.Node = one
	if !d.Lparen.IsValid() {
		at = d
	}
	switch one := one.(type) {
	case *ast.TypeSpec:
		end := one.End()
		switch shape := one.Type.(type) {
		case *ast.StructType:
			end = shape.Pos() + token.Pos(len("struct"))
		case *ast.InterfaceType:
			end = shape.Pos() + token.Pos(len("interface"))
		}
		s.add(at, "type "+s.text(one.Pos(), end), one.Doc, d.Doc)
		if shape, ok := one.Type.(*ast.InterfaceType); ok && shape.Methods != nil {
			for _, m := range shape.Methods.List {
				s.add(m, "  "+s.text(m.Pos(), m.End()), m.Doc)
			}
		}
	case *ast.ValueSpec:
		s.add(at, d.Tok.String()+" "+s.text(one.Pos(), one.End()), one.Doc, d.Doc)
	}
}

func (s *goSource) add(at ast.Node, line string, docs ...*ast.CommentGroup) {
	for _, d := range docs {
		if first, _, _ := strings.Cut(d.Text(), "\n"); s.docs && first != "" {
			line = text.Short(line, MaxSymbol/2) + " // " + first
			break
		}
	}
	s.symbols = append(s.symbols, Symbol{s.line(at.Pos()), s.line(at.End() - 1), line})
}

// line is where a position lies in the file itself, whatever line directives say.
func (s *goSource) line(pos token.Pos) int { return s.file.PositionFor(pos, false).Line }

// text is a part of the source on one line, bounded.
func (s *goSource) text(from, to token.Pos) string {
	const enough = 4 * MaxSymbol
	start, end := s.file.Offset(from), s.file.Offset(to) // positions of what is broken are kept inside the file
	return text.OneLine(string(s.data[start:max(start, min(end, start+enough))]))
}
