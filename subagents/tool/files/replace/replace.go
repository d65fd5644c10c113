// Package replace finds the text that a model means in a file and puts another in its place: exactly, else without regard
// to blanks at line ends or to indentation, and only where one place can be meant. Its input is the content of a file and
// two texts, its output the new content, or an error that shows the place that is most like the text. It never guesses
// between two places and touches no file.
package replace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/internal/textfile"
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

// In replaces the old text in a file, everywhere where all is set. What it does not touch stays byte for byte, line ends and byte
// order mark included; new text gets the encoding of the file, and new lines the line end that most of its lines have.
func In(f *textfile.File, old, replacement string, all bool) (*Edited, error) {
	content := string(f.Text)
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
	data := f.Replace(spans)
	if bytes.Equal(data, f.Replace(nil)) {
		return nil, errors.New("the file says that already")
	}
	return &Edited{
		Data: data, how: how, places: len(spans),
		line:  1 + strings.Count(content[:spans[0].Start], "\n"),
		lines: 1 + strings.Count(strings.TrimSuffix(spans[0].Text, "\n"), "\n"),
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
	lines := text.Lines(text.Valid(seen(e.Data)))
	b.WriteString(excerpt(lines, max(0, e.line-2), e.line+e.lines))
	return b.String()
}

// seen is the text of a file as a model reads it.
func seen(data []byte) string {
	if f, ok := textfile.Read(data); ok {
		return string(f.Text)
	}
	return string(data) // what was put in made a binary of it
}
