// Package replace finds the text that a model means in a file and puts another in its place: exactly, else without regard
// to blanks at line ends or to indentation, and only where one place can be meant. Its input is the content of a file and
// two texts, its output the new content, or an error that shows the place that is most like the text. It never guesses
// between two places and touches no file.
package replace

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"divisi/internal/text"
)

// Edited is a changed file.
type Edited struct {
	// Data is its new content; how names what was disregarded to find the place.
	Data   []byte
	how    string
	places int
	// line is the number of the line in which the first change begins, lines how many new lines it has.
	line, lines int
}

// In replaces the old text in the content of a file, everywhere where all is set. What it does not touch stays byte for
// byte, line ends included; new lines get the line end that most lines of the file have.
func In(data []byte, old, replacement string, all bool) (*Edited, error) {
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
	return &Edited{
		Data: b.Bytes(), how: how, places: len(spans),
		line:  1 + strings.Count(content[:spans[0].start], "\n"),
		lines: 1 + strings.Count(strings.TrimSuffix(spans[0].text, "\n"), "\n"),
	}, nil
}

// Report describes what was done and shows the first change with a line around it.
func (e *Edited) Report(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s changed", name)
	if e.places > 1 {
		fmt.Fprintf(&b, " in %d places", e.places)
	}
	if e.how != "" {
		fmt.Fprintf(&b, " (%s)", e.how)
	}
	b.WriteString("\n")
	lines := text.Lines(strings.ToValidUTF8(string(e.Data), "\uFFFD"))
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
