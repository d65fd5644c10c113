package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sort"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed edit_file.md
var editFileText string

// maxEdited bounds the files that are edited; larger ones are not written by hand.
const maxEdited = 4 << 20

type editFile struct{ files *tree }

// Declaration is what the model is told.
func (t *editFile) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolEditFile, Description: editFileText,
		ParametersJsonSchema: object(properties{
			"path":        property("string", "File to change, relative to the top."),
			"old_text":    property("string", "The text to replace, exactly as it stands, without line numbers."),
			"new_text":    property("string", "What stands there afterwards. Empty to delete."),
			"replace_all": property("boolean", "Replace every place where old_text stands. Default false."),
		}, "path", "old_text", "new_text"),
	}
}

// Effect is Writes: it changes the work tree.
func (t *editFile) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *editFile) Doing(call Call) string { return "editing " + call.text("path") }

// Run carries out one call.
func (t *editFile) Run(_ context.Context, call Call) Result {
	name := call.text("path")
	target, err := t.files.writable(name)
	if err != nil {
		return Failed("%s", err)
	}
	data, mode, err := t.files.readReal(target, name, maxEdited)
	if err != nil {
		return Failed("%s", err)
	}
	if binary(data) {
		return Failed("%s is a binary file and cannot be edited as text", name)
	}
	e, err := edit(data, call.text("old_text"), call.text("new_text"), call.flag("replace_all"))
	if err != nil {
		return Failed("%s was not changed: %s", name, err)
	}
	if err := t.files.replace(target, e.data, mode); err != nil {
		return Failed("%s was not changed: %s", name, err)
	}
	return Text(e.report(target))
}

// edited is a changed file.
type edited struct {
	data   []byte
	how    string
	places int
	// line is where the first change begins, lines how many new lines it has.
	line, lines int
}

// edit replaces the old text. Whatever it does not touch stays byte for byte, line ends included; new lines get the line
// end that most lines of the file have.
func edit(data []byte, old, replacement string, all bool) (*edited, error) {
	content := strings.ReplaceAll(string(data), "\r\n", "\n")
	old, replacement = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(replacement, "\r\n", "\n")
	if old == "" {
		return nil, errors.New("old_text is empty: give the text to replace, or use write_file for a new file")
	}
	if old == replacement {
		return nil, errors.New("old_text and new_text are the same")
	}
	spans, how, err := find(content, old, replacement, all)
	if err != nil {
		return nil, err
	}
	ends := newLineEnds(data)
	var b bytes.Buffer
	at := 0
	for _, s := range spans {
		b.Write(data[at:ends.original(s.start)])
		b.WriteString(ends.write(s.text))
		at = ends.original(s.end)
	}
	b.Write(data[at:])
	if bytes.Equal(b.Bytes(), data) {
		return nil, errors.New("the file says that already")
	}
	return &edited{
		data: b.Bytes(), how: how, places: len(spans),
		line:  1 + strings.Count(content[:spans[0].start], "\n"),
		lines: 1 + strings.Count(strings.TrimSuffix(spans[0].text, "\n"), "\n"),
	}, nil
}

// report says what was done and shows the first change with a line around it.
func (e *edited) report(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s changed", name)
	if e.places > 1 {
		fmt.Fprintf(&b, " in %d places", e.places)
	}
	if e.how != "" {
		fmt.Fprintf(&b, " (%s)", e.how)
	}
	b.WriteString("\n")
	lines := splitLines(strings.ToValidUTF8(string(e.data), "\uFFFD"))
	b.WriteString(excerpt(lines, max(0, e.line-2), e.line+e.lines))
	return b.String()
}

// lineEnds maps a content whose line ends were made \n back to the bytes of the file.
type lineEnds struct {
	// crlf are the places in the content whose \n was \r\n.
	crlf []int
	most bool
}

func newLineEnds(data []byte) *lineEnds {
	l := &lineEnds{}
	for i := 1; i < len(data); i++ {
		if data[i] == '\n' && data[i-1] == '\r' {
			l.crlf = append(l.crlf, i-1-len(l.crlf))
		}
	}
	l.most = len(l.crlf) > 0 && 2*len(l.crlf) > bytes.Count(data, []byte("\n"))
	return l
}

// original is the place in the file of a place in the content.
func (l *lineEnds) original(at int) int { return at + sort.SearchInts(l.crlf, at) }

// write gives a new text the line end that most lines have.
func (l *lineEnds) write(text string) string {
	if l.most {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}
