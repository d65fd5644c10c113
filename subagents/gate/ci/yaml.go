package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxVisits bounds the nodes that are visited in one file: aliases can name the same ones again and again.
	maxVisits = 500_000
	// maxDepth bounds merge keys in merge keys, jobs that extend jobs, and the like.
	maxDepth = 10
)

// node is a value of a YAML file, with aliases followed. The zero node is absent.
type node struct {
	n      *yaml.Node
	visits *int
}

// parse reads a file. An error has its line.
func parse(file string, data []byte) (docs []node, err error) {
	visits := maxVisits
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		n := new(yaml.Node)
		err := d.Decode(n)
		switch {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			line, message := 0, strings.TrimPrefix(err.Error(), "yaml: ")
			if n, _ := fmt.Sscanf(message, "line %d: ", &line); n == 1 { // else the place is not known
				_, message, _ = strings.Cut(message, ": ")
			}
			return docs, &FileError{File: file, Line: line, Message: message}
		}
		if len(n.Content) > 0 {
			docs = append(docs, node{n.Content[0], &visits})
		}
	}
}

// FileError is a file that cannot be read, or not as a whole.
type FileError struct {
	File    string
	Line    int // 0 where it is not known
	Message string
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return e.File + ": " + e.Message
}

func (v node) to(n *yaml.Node) node {
	if *v.visits--; *v.visits < 0 {
		return node{}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return node{n, v.visits}
}

func (v node) is(kind yaml.Kind) bool { return v.n != nil && v.n.Kind == kind }

// fields are those of a mapping in their order, then those that it merges.
func (v node) fields() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) { v.each(map[string]bool{}, 0, yield) }
}

func (v node) each(seen map[string]bool, depth int, yield func(string, node) bool) bool {
	if !v.is(yaml.MappingNode) || depth > maxDepth {
		return true
	}
	var merged []node
	for i := 0; i+1 < len(v.n.Content); i += 2 {
		key, value := v.n.Content[i].Value, v.to(v.n.Content[i+1])
		if v.n.Content[i].Tag == "!!merge" {
			merged = append(merged, value.items()...)
		} else if !seen[key] {
			seen[key] = true
			if !yield(key, value) {
				return false
			}
		}
	}
	for _, m := range merged {
		if !m.each(seen, depth+1, yield) {
			return false
		}
	}
	return true
}

// get follows keys.
func (v node) get(keys ...string) node {
	for _, key := range keys {
		found := node{}
		for name, value := range v.fields() {
			if name == key {
				found = value
				break
			}
		}
		v = found
	}
	return v
}

// items are those of a list, or the one value that stands for a list.
func (v node) items() (list []node) {
	if !v.is(yaml.SequenceNode) {
		if v.n == nil || v.n.Tag == "!!null" {
			return nil
		}
		return []node{v}
	}
	for _, n := range v.n.Content {
		list = append(list, v.to(n))
	}
	return list
}

// text is a scalar as it is written.
func (v node) text() string {
	if !v.is(yaml.ScalarNode) || v.n.Tag == "!!null" {
		return ""
	}
	return v.n.Value
}

// texts are the scalars of a list, or the names of a mapping.
func (v node) texts() (list []string) {
	if v.is(yaml.MappingNode) {
		for name := range v.fields() {
			list = append(list, name)
		}
		return list
	}
	for _, one := range v.items() {
		if s := one.text(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (v node) line() int {
	if v.n == nil {
		return 0
	}
	return v.n.Line
}

// settings are the plain values of a mapping of variables.
func (v node) settings() map[string]string {
	all := map[string]string{}
	for name, value := range v.fields() {
		if value.is(yaml.MappingNode) { // GitLab's long form
			value = value.get("value")
		}
		if value.is(yaml.ScalarNode) {
			all[name] = value.text()
		}
	}
	return all
}

// script is shell text, whose lines know where they are.
type script struct {
	text  strings.Builder
	lines []int
	jobs  map[string]node // whose parts !reference of GitLab names
}

// add appends what a value says: a text, or a list of texts and lists.
func (s *script) add(v node, depth int) {
	if depth > maxDepth || v.n == nil {
		return
	}
	if v.is(yaml.SequenceNode) {
		if names := v.texts(); v.n.Tag == "!reference" && len(names) > 1 {
			s.add(inherited(s.jobs, s.jobs[names[0]], maxDepth, names[1:]...), depth+1)
			return
		}
		for _, one := range v.items() {
			s.add(one, depth+1)
		}
		return
	}
	first := v.line()
	if v.is(yaml.ScalarNode) && v.n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		first++
	}
	s.put(first, v.text())
}

// put appends a text that begins in a line of the file.
func (s *script) put(first int, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		s.text.WriteString(line)
		s.lines = append(s.lines, first)
		first++
	}
}

// replace has another text in the same lines.
func (s *script) replace(text string) {
	s.text.Reset()
	s.text.WriteString(text)
}

// line is where a line of the text is, counted from 0.
func (s *script) line(n int) int {
	if len(s.lines) == 0 {
		return 0
	}
	return s.lines[min(n, len(s.lines)-1)]
}
