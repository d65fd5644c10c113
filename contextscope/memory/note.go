package memory

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"divisi/internal/spec"
)

// The greatest sizes of notes, far above anything that is worth remembering.
const (
	maxNote  = 64 << 10
	maxFront = 8 << 10 // the parser needs quadratic time for the worst text
	maxTitle = 120
	maxTag   = 60
	maxPath  = 200
	maxList  = 30
)

// Note is one thing worth knowing beyond the run in which it was learnt.
type Note struct {
	// Name is the file's path below the directory of notes, slashes between, without .md. It is empty on a note that has no
	// file yet.
	Name  string `json:"name,omitempty"`
	Title string `json:"title"`
	// Tags are words to find it by; Paths are globs of what it concerns.
	Tags  []string `json:"tags,omitempty"`
	Paths []string `json:"paths,omitempty"`
	// Created is when it was written, and Source by whom: run/task for agents. Both may be empty.
	Created time.Time `json:"created,omitzero"`
	Source  string    `json:"source,omitempty"`
	// Text is Markdown.
	Text string `json:"text"`
}

// front is the front matter of a note.
type front struct {
	Title   string   `yaml:"title"`
	Tags    []string `yaml:"tags"`
	Paths   []string `yaml:"paths"`
	Created string   `yaml:"created"`
	Source  string   `yaml:"source"`
}

// Parse reads a note: Markdown, with YAML front matter or without. The name is only used for the title of a note that has
// none. The error is a *ParseError whose File is the name.
func Parse(name string, data []byte) (Note, error) {
	fault := func(line, col int, format string, args ...any) (Note, error) {
		return Note{}, &ParseError{Problem{File: name, Line: line, Col: col, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case len(data) > maxNote:
		return fault(0, 0, "it is larger than %d KiB: split it", maxNote>>10)
	case !utf8.Valid(data):
		line := 1 + bytes.Count(data[:invalidAt(data)], []byte("\n"))
		return fault(line, 1, "it is not UTF-8 text")
	case bytes.IndexByte(data, 0) >= 0:
		return fault(0, 0, "it is not text: it contains a NUL character")
	}
	text := lineEnds.Replace(strings.TrimPrefix(string(data), "\ufeff"))
	n := Note{Name: name}
	if head, body, ok := cutFront(text); ok {
		if p := n.readFront(head); p != nil {
			return fault(p.Line, p.Col, "%s", p.Message)
		}
		text = body
	} else if strings.HasPrefix(text, "---\n") {
		return fault(1, 1, "its front matter is not closed by a line ---")
	}
	n.Text = text
	n.tidy()
	return n, nil
}

// lineEnds makes all line ends one.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// cutFront splits a text that begins with front matter. The first line of head stands for the opening ---, so that places in
// it are places in the file.
func cutFront(text string) (head, body string, ok bool) {
	rest, opened := strings.CutPrefix(text, "---\n")
	if !opened {
		return "", "", false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return "\n" + rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

// readFront sets the fields from front matter, strictly.
func (n *Note) readFront(head string) (p *Problem) {
	defer func() {
		if r := recover(); r != nil { // a fault of the parser is a fault of the file that provoked it
			p = &Problem{Line: 1, Col: 1, Message: fmt.Sprintf("its front matter cannot be parsed: %v", r)}
		}
	}()
	if len(head) > maxFront {
		return &Problem{Line: 1, Col: 1, Message: fmt.Sprintf("its front matter is larger than %d KiB", maxFront>>10)}
	}
	for _, t := range lexer.Tokenize(head) { // aliases of aliases decode to any size
		if t.Type == token.AliasType {
			at := t.Position
			return &Problem{Line: at.Line, Col: at.Column, Message: "aliases are not read here: write the value out"}
		}
	}
	var f front
	if err := yaml.UnmarshalWithOptions([]byte(head), &f, yaml.Strict()); err != nil {
		return yamlProblem(err)
	}
	created, err := parseCreated(f.Created)
	if err != nil {
		line := 1 + strings.Count(head[:max(0, strings.Index(head, "\ncreated")+1)], "\n")
		return &Problem{Line: line, Col: 1, Message: err.Error()}
	}
	n.Title, n.Tags, n.Paths, n.Created, n.Source = f.Title, f.Tags, f.Paths, created, f.Source
	return nil
}

func yamlProblem(err error) *Problem {
	p := &Problem{Line: 1, Col: 1, Message: err.Error()}
	var at yaml.Error
	if !errors.As(err, &at) {
		return p
	}
	p.Message = at.GetMessage()
	if t := at.GetToken(); t != nil && t.Position != nil {
		p.Line, p.Col = t.Position.Line, max(1, t.Position.Column)
	}
	if errors.As(err, new(*yaml.UnknownFieldError)) {
		p.Message += "; the fields are title, tags, paths, created, source"
	}
	return p
}

func parseCreated(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("created is %q; write it as 2026-01-31 or 2026-01-31T10:00:00Z", s)
}

// tidy gives a note the one form in which it is kept: fields are bounded single lines, and there is a title
// where anything gives one.
func (n *Note) tidy() {
	n.Text = strings.TrimRight(strings.TrimLeft(lineEnds.Replace(n.Text), "\n"), " \t\n")
	n.Title = oneLine(n.Title, maxTitle)
	if n.Title == "" {
		n.Title = oneLine(heading(n.Text), maxTitle)
	}
	if n.Title == "" && n.Name != "" {
		n.Title = oneLine(path.Base(n.Name), maxTitle)
	}
	n.Tags, n.Paths = tidyList(n.Tags, maxTag), tidyList(n.Paths, maxPath)
	n.Source = oneLine(n.Source, maxPath)
	n.Created = n.Created.UTC().Truncate(time.Second)
}

func tidyList(list []string, most int) []string {
	var out []string
	for _, s := range list {
		if s = oneLine(s, most); s != "" && len(out) < maxList {
			out = append(out, s)
		}
	}
	return out
}

// heading is the first heading of a Markdown text, outside fenced code.
func heading(text string) string {
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		rest := strings.TrimLeft(line, "#")
		if level := len(line) - len(rest); !fenced && level >= 1 && level <= 6 && strings.HasPrefix(rest, " ") {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Render writes a note as Parse reads it. Fields are always quoted, so that no text in them can become another field.
func (n *Note) Render() []byte {
	tidied := *n
	tidied.tidy()
	var b bytes.Buffer
	b.WriteString("---\ntitle: " + spec.JSONText(tidied.Title) + "\n")
	for _, list := range []struct {
		key    string
		values []string
	}{{"tags", tidied.Tags}, {"paths", tidied.Paths}} {
		if len(list.values) > 0 {
			all := make([]string, len(list.values))
			for i, v := range list.values {
				all[i] = spec.JSONText(v)
			}
			b.WriteString(list.key + ": [" + strings.Join(all, ", ") + "]\n")
		}
	}
	if !tidied.Created.IsZero() {
		b.WriteString("created: " + spec.JSONText(tidied.Created.Format(time.RFC3339)) + "\n")
	}
	if tidied.Source != "" {
		b.WriteString("source: " + spec.JSONText(tidied.Source) + "\n")
	}
	b.WriteString("---\n\n" + tidied.Text + "\n")
	return b.Bytes()
}
