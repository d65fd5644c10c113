package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed edit_file.md
var editFileText string

// maxEdited bounds the files that are edited, maxEditedSum those of one call together; larger ones are not written by hand.
const (
	maxEdited    = 4 << 20
	maxEditedSum = 64 << 20
)

type editFile struct{ files *tree }

// Declaration is what the model is told.
func (t *editFile) Declaration() *genai.FunctionDeclaration {
	edits := property("array", "What to replace, in this order.")
	edits["items"] = object(properties{
		"path":        property("string", "File to change, relative to the top."),
		"old_text":    property("string", "The text to replace, exactly as it stands, without line numbers."),
		"new_text":    property("string", "What stands there afterwards. Empty to delete."),
		"replace_all": property("boolean", "Replace every place where old_text stands. Default false."),
	}, "path", "old_text", "new_text")
	return &genai.FunctionDeclaration{
		Name: spec.ToolEditFile, Description: editFileText, ParametersJsonSchema: object(properties{"edits": edits}, "edits"),
	}
}

// Effect is Writes: it changes the work tree.
func (t *editFile) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *editFile) Doing(call Call) string {
	var names []string
	for _, e := range editsOf(call) {
		names = appendOnce(names, e.text("path"))
	}
	if len(names) > 1 {
		return fmt.Sprintf("editing %s and %d more", names[0], len(names)-1)
	}
	return "editing " + strings.Join(names, "")
}

// editsOf are the edits of a call, each with its own arguments.
func editsOf(call Call) []Call {
	list, _ := call.Args["edits"].([]any)
	edits := make([]Call, len(list))
	for i, e := range list {
		edits[i].Args, _ = e.(map[string]any)
	}
	return edits
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Run carries out one call: all edits, or none.
func (t *editFile) Run(ctx context.Context, call Call) Result {
	edits := editsOf(call)
	if len(edits) == 0 {
		return Failed("edits is empty: give at least one")
	}
	var done editing
	var faults, reports []string
	for i, e := range edits {
		report, err := done.edit(t.files, e)
		if err != nil {
			faults = append(faults, fmt.Sprintf("edits[%d]: %v", i, err))
		}
		reports = append(reports, report)
	}
	if len(faults) > 0 {
		return Failed("nothing was changed; put right:\n- %s", strings.Join(faults, "\n- "))
	}
	if ctx.Err() != nil { // from here on it is not interrupted
		return Failed("nothing was changed: %v", context.Cause(ctx))
	}
	if err := t.files.change(done.changes); err != nil {
		return Failed("%s", err)
	}
	return Text(strings.Join(reports, ""))
}

// editing is several edits on their way: what becomes of each file.
type editing struct {
	changes []*change
	bytes   int
}

// edit makes one edit of a file as the edits before it leave it.
func (e *editing) edit(files *tree, call Call) (report string, err error) {
	c, err := e.file(files, call.text("path"))
	if err != nil {
		return "", err
	}
	done, err := edit(c.data, call.text("old_text"), call.text("new_text"), call.flag("replace_all"))
	if err != nil {
		return "", fmt.Errorf("%s was not changed: %w", c.target, err)
	}
	if e.bytes += len(done.data) - len(c.data); e.bytes > maxEditedSum {
		return "", fmt.Errorf("the files have more than %d bytes together: edit fewer at once", maxEditedSum)
	}
	c.data = done.data
	return done.report(c.target), nil
}

// file is a file as the edits so far leave it.
func (e *editing) file(files *tree, name string) (*change, error) {
	target, err := files.writable(name)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(e.changes, func(c *change) bool { return c.target == target }); i >= 0 {
		return e.changes[i], nil
	}
	data, mode, err := files.readReal(target, name, maxEdited)
	if err != nil {
		return nil, err
	}
	if binary(data) {
		return nil, fmt.Errorf("%s is a binary file and cannot be edited as text", name)
	}
	c := &change{target: target, before: data, data: data, mode: mode}
	e.changes, e.bytes = append(e.changes, c), e.bytes+len(data)
	return c, nil
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
