package configs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/google/jsonschema-go/jsonschema"

	"divisi/internal/lazyregexp"
)

// document is one YAML text on its way into a value. It collects faults and remembers where every value stood.
type document struct {
	file   string
	lines  []string
	faults []Fault
	// at maps the path of a value (tasks[0].brief) to its place.
	at map[string]place
	// keys maps the paths of fields, but for those in lists, to their lines.
	keys map[string]int
	// bad holds the paths whose value could not be read: what is missing there is no second fault.
	bad map[string]bool
}

type place struct{ line, col int }

// The parser needs quadratic time for nesting and for the fields of one mapping, so that both are bounded before it runs.
const (
	maxDepth  = 32
	maxFields = 2000
)

// mark is the byte order mark that some editors put before the first letter.
const mark = "\ufeff"

func newDocument(file, text string) *document {
	lines := strings.Split(strings.TrimPrefix(text, mark), "\n")
	return &document{file: file, lines: lines, at: map[string]place{}, keys: map[string]int{}, bad: map[string]bool{}}
}

// read decodes the text that a schema describes into a pointer. What cannot be read stays zero and is a fault.
func (d *document) read(text string, schema *jsonschema.Schema, into any) {
	if !utf8.ValidString(text) {
		d.refusef("", place{}, "", "the file is not UTF-8 text")
		return
	}
	if strings.ContainsRune(text, 0) {
		d.refusef("", place{}, "", "the file contains a NUL character")
		return
	}
	body := d.parse(strings.TrimPrefix(text, mark))
	if body == nil {
		d.bad[""] = len(d.faults) > 0 // the author meant more than an empty file
		return
	}
	d.into(body, schema, into)
}

// parse returns the only document of the text; nil when there is none or it cannot be parsed.
func (d *document) parse(text string) (body ast.Node) {
	defer func() {
		if r := recover(); r != nil { // a fault of the parser is a fault of the file that provoked it
			d.faultf(place{}, "", "the text cannot be parsed as YAML: %v", r)
			body = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if at, message := tooComplex(tokens); message != "" {
		d.faultf(at, "", "%s", message)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType:
		case doc.Body.Type() == ast.DirectiveType:
			d.faultf(tokenPlace(doc.Body.GetToken()), "", "directives are not read here")
		case body != nil:
			d.faultf(nodePlace(doc.Body), "", "the file holds more than one document")
		default:
			body = doc.Body
		}
	}
	return body
}

func (d *document) syntax(err error) {
	var at yaml.Error
	if !errors.As(err, &at) {
		d.faultf(place{}, "", "%v", err)
		return
	}
	where, message := tokenPlace(at.GetToken()), at.GetMessage()
	if col := d.tab(where.line); col > 0 {
		where.col, message = col, "YAML is indented with spaces: replace this tab"
	}
	if strings.Contains(message, "is not allowed in this context") { // the parser's own words tell a person nothing
		message = "YAML cannot read this here: put a text with a colon, such as `a: b`, in quotes, and indent a " +
			"list or a field below its name"
	}
	d.faultf(where, "", "%s", message)
}

// tab is the column of the first tab in the indentation of a line, which continues behind the - of a list; 0 where it has none.
func (d *document) tab(line int) int {
	if line < 1 || line > len(d.lines) {
		return 0
	}
	text := d.lines[line-1]
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t-"))]
	return strings.IndexByte(indent, '\t') + 1
}

// refusef faults a value that cannot be read; it returns nil, which stands for the value.
func (d *document) refusef(path string, at place, suggest, format string, args ...any) any {
	d.bad[path] = true
	d.faultf(at, suggest, format, args...)
	return nil
}

func (d *document) faultf(at place, suggest, format string, args ...any) {
	const most = 100 // a file that is wrong everywhere is no better explained by more
	if len(d.faults) == most {
		return
	}
	f := Fault{Line: at.line, Col: at.col, Suggest: suggest, Message: printable(fmt.Sprintf(format, args...), maxMessage)}
	if at.line > 0 && at.line <= len(d.lines) {
		f.Source = printable(strings.TrimSuffix(d.lines[at.line-1], "\r"), maxSource)
	}
	d.faults = append(d.faults, f)
}

// err returns what was found as one error, or nil.
func (d *document) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	sortFaults(d.faults)
	return &FileError{File: d.file, Faults: d.faults}
}

var placeInText = lazyregexp.New(`^(.+):(\d{1,9}):(\d{1,9})$`)

// where finds the place of a path, or of the nearest value around it. A path such as instruction:3:14 ends in a line and a
// column of the text that the value is.
func (d *document) where(path string) place {
	if m := placeInText.FindStringSubmatch(path); m != nil {
		return inside(d.where(m[1]), m[2], m[3])
	}
	for path != "" {
		if at, ok := d.at[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return d.at[""]
}

// inside is the place of a line and a column of a text that begins at start.
func inside(start place, line, col string) place {
	l, _ := strconv.Atoi(line) // both are digits
	c, _ := strconv.Atoi(col)
	if l == 1 {
		return place{start.line, start.col + c - 1}
	}
	return place{start.line + l - 1, c}
}

// unread reports whether the value at the path, or one around it, could not be read.
func (d *document) unread(path string) bool {
	for path != "" {
		if d.bad[path] {
			return true
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return d.bad[""]
}

// tooComplex finds the first token that is nested too deep or belongs to too large a mapping.
func tooComplex(tokens token.Tokens) (at place, message string) {
	flow, line, onLine, fields := 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType:
			flow++
		case token.MappingStartType:
			flow++
			fields = 0
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType:
			onLine++
			fields = 0
		case token.MappingKeyType, token.AnchorType, token.TagType:
			onLine++
		case token.MappingValueType:
			fields++
		}
		if flow > maxDepth || onLine > maxDepth {
			return tokenPlace(t), fmt.Sprintf("the values are nested more than %d deep", maxDepth)
		}
		if fields > maxFields {
			return tokenPlace(t), fmt.Sprintf("there are more than %d fields in one place", maxFields)
		}
	}
	return place{}, ""
}

func tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, max(1, t.Position.Column)}
}

// nodePlace is where a value begins: the parser itself gives the colon for a mapping.
func nodePlace(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle || len(n.Values) == 0 {
			return tokenPlace(n.Start)
		}
		return nodePlace(n.Values[0].Key)
	case *ast.MappingValueNode:
		return nodePlace(n.Key)
	}
	return tokenPlace(n.GetToken())
}
