package main

import (
	"embed"
	"fmt"
	"go/format"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed code
var code embed.FS

// template is one kind of package, and what the plan asks to change in each package of the kind.
type template struct {
	name, brief string
	// match finds the files that are to be changed.
	match, code, test string
	// right is the change that the brief asks for. Other is a harmless addition that some agents make, bad what a reviewer must
	// see.
	right []edit
	other edit
	bad   []wrong
}

// edit puts one text in the place of another.
type edit struct{ From, To string }

// wrong is an edit that builds and passes all tests, and is wrong.
type wrong struct {
	edit

	what string
}

// templates are the kinds of packages, those with names of their own first.
var templates = []string{"handlers", "clients", "stores", "codecs", "validators", "jobs"}

func readTemplate(name string) (*template, error) {
	data, err := code.ReadFile("code/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	t := &template{name: name}
	for _, f := range txtar.Parse(data).Files {
		text := string(f.Data)
		what, isBad := strings.CutPrefix(f.Name, "bad: ")
		switch {
		case isBad:
			t.bad = append(t.bad, wrong{edit: cut(text), what: what})
		case f.Name == "brief":
			t.brief = strings.TrimSpace(text)
		case f.Name == "match":
			t.match = strings.TrimSpace(text)
		case f.Name == "right":
			t.right = append(t.right, cut(text))
		case f.Name == "other":
			t.other = cut(text)
		case f.Name == "code.go":
			t.code = text
		case f.Name == "code_test.go":
			t.test = text
		default:
			return nil, fmt.Errorf("%s.txt: what is %q?", name, f.Name)
		}
	}
	return t, nil
}

// cut parts what an edit replaces from what it writes.
func cut(text string) edit {
	from, to, _ := strings.Cut(text, "=====\n")
	return edit{from, to}
}

// apply makes the edits, each wherever it fits; one that fits nowhere is an error.
func apply(text string, edits []edit) (string, error) {
	for _, e := range edits {
		if !strings.Contains(text, e.From) {
			return "", fmt.Errorf("nothing to replace by %q", e.To)
		}
		text = strings.ReplaceAll(text, e.From, e.To)
	}
	return text, nil
}

// goFile is Go code as gofmt has it.
func goFile(path, text string) (string, error) {
	out, err := format.Source([]byte(text))
	if err != nil {
		return "", fmt.Errorf("format %s: %w", path, err)
	}
	return string(out), nil
}
