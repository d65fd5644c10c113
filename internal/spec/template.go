package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/internal/lazyregexp"
)

// ErrNoValue is returned by the lookup of Template.Expand for a key without a value: an optional key is empty then, any other is
// an error.
var ErrNoValue = errors.New("it has no value")

// Template is an instruction with keys in braces, taken apart:
//
//	{name}            the value of a key of TemplateKeys
//	{name?}           the same; nothing where there is no value
//	{artifact.name}   the text of an artifact, whose name has letters and digits of ASCII and . _ - /
//	{artifact.name?}  the same; nothing where there is no such artifact
//	{{                a brace {
//	}}                a brace } where a {{ before it has not been closed by another }}, and }} as it stands elsewhere
//
// A key is written without blanks, as an identifier. Every other brace stands for itself, so that func() {}, { "a": 1 },
// {"a":{"b":1}} and map[string]struct{}{} are text as they are, and {"a":{"b":{goal}}} needs no escape. Read from the left,
// the longest of {{ and }} goes first: {{{goal}}} is the value of goal in braces.
type Template struct{ pieces []templatePiece }

// templatePiece is literal text, or a key where the key has a name.
type templatePiece struct {
	text string
	key  TemplateKey
}

// TemplateKey is one use of a value in a template.
type TemplateKey struct {
	// Name is the key's name, or the artifact's.
	Name string
	// Artifact reports that the value is an artifact's text.
	Artifact bool
	// Optional reports that a missing value is nothing.
	Optional bool
	// Line and Col are the place of the brace, from 1; columns count characters.
	Line, Col int
}

// String writes the key as it is in the template.
func (k TemplateKey) String() string {
	name := k.Name
	if k.Artifact {
		name = "artifact." + name
	}
	if k.Optional {
		name += "?"
	}
	return "{" + name + "}"
}

// TemplateValue is a key that instructions can use.
type TemplateValue struct {
	Name string
	// Stable reports that the value is the same for all requests of one role in one run.
	Stable bool
}

// TemplateKeys returns the keys that instructions can use: the stable ones first.
func TemplateKeys() []TemplateValue {
	return []TemplateValue{
		{"goal", true},
		{"run", true},
		{"role", true},
		{"model", true},
		{"task", false},
		{"title", false},
		{"attempt", false},
		{"turn", false},
		{"turns_left", false},
		{"tokens_left", false},
		{"files", false},
	}
}

func templateNames() []string {
	var names []string
	for _, v := range TemplateKeys() {
		names = append(names, v.Name)
	}
	return names
}

var templateKey = lazyregexp.New(`^\{(?:artifact\.([A-Za-z0-9._/-]+)|([A-Za-z_][A-Za-z0-9_]*))(\?)?\}`)

// ParseTemplate takes an instruction apart. Each use of an unknown key is a problem, whose path is its place in the text,
// such as 3:14; the template can be used all the same.
func ParseTemplate(text string) (*Template, []Problem) {
	t, v := &Template{}, &problems{}
	open, line, col := 0, 1, 1
	for text != "" {
		n, piece := nextPiece(text, open > 0)
		switch {
		case piece.key.Name != "":
			piece.key.Line, piece.key.Col = line, col
			if !piece.key.Artifact && !slices.Contains(templateNames(), piece.key.Name) {
				v.addf(fmt.Sprintf("%d:%d", line, col), Nearest(piece.key.Name, templateNames()),
					"there is no key %s for instructions; there %s, and artifact.NAME; the text itself is written {%s}",
					piece.key, listNames(templateNames()), piece.key)
			}
		case n == 2 && piece.text == "{":
			open++
		case n == 2 && piece.text == "}":
			open--
		}
		t.pieces = append(t.pieces, piece)
		line, col = advance(line, col, text[:n])
		text = text[n:]
	}
	return t, v.list
}

// template faults the unknown keys of an instruction; their paths are its own with the place in the text.
func (p *problems) template(path, text string) {
	_, found := ParseTemplate(text)
	for _, f := range found {
		f.Path = path + ":" + f.Path
		p.list = append(p.list, f)
	}
}

// nextPiece reads one key, one escape, or literal text up to the next brace, and reports how many bytes it took.
func nextPiece(text string, open bool) (n int, piece templatePiece) {
	switch {
	case strings.HasPrefix(text, "{{"):
		return 2, templatePiece{text: "{"}
	case open && strings.HasPrefix(text, "}}"):
		return 2, templatePiece{text: "}"}
	}
	if m := templateKey.FindStringSubmatch(text); m != nil {
		return len(m[0]), templatePiece{key: TemplateKey{Name: m[1] + m[2], Artifact: m[1] != "", Optional: m[3] != ""}}
	}
	n = strings.IndexAny(text[1:], "{}") + 1
	if n == 0 {
		n = len(text)
	}
	return n, templatePiece{text: text[:n]}
}

// advance moves a place past a text.
func advance(line, col int, text string) (nextLine, nextCol int) {
	if last := strings.LastIndexByte(text, '\n'); last >= 0 {
		return line + strings.Count(text, "\n"), 1 + utf8.RuneCountInString(text[last+1:])
	}
	return line, col + utf8.RuneCountInString(text)
}

// Keys returns each key once, at its first place, in order of appearance. It is optional where every use of it is.
func (t *Template) Keys() []TemplateKey {
	var keys []TemplateKey
	for _, p := range t.pieces {
		same := func(k TemplateKey) bool { return k.Name == p.key.Name && k.Artifact == p.key.Artifact }
		if i := slices.IndexFunc(keys, same); i >= 0 {
			keys[i].Optional = keys[i].Optional && p.key.Optional
		} else if p.key.Name != "" {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// Expand puts the values in. The lookup is asked at each use; it answers ErrNoValue where there is none, and any other
// error of it ends the expansion. Values are not expanded again. Errors name the key and its place.
func (t *Template) Expand(lookup func(TemplateKey) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t.pieces {
		if p.key.Name == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := lookup(p.key)
		if errors.Is(err, ErrNoValue) && p.key.Optional {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("line %d, column %d: the value of %s%s: %w", p.key.Line, p.key.Col, p.key, p.key.meant(), err)
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// meant names the key that a mistyped one is nearest to.
func (k TemplateKey) meant() string {
	near := Nearest(k.Name, templateNames())
	if k.Artifact || near == "" || near == k.Name {
		return ""
	}
	return fmt.Sprintf(" (did you mean {%s}?)", near)
}

// EscapeTemplate writes a text so that it is itself when it is expanded as an instruction: it has no keys then. What stands for
// itself already is left as it is.
func EscapeTemplate(text string) string {
	tmpl, _ := ParseTemplate(text)
	if same, err := tmpl.Expand(func(TemplateKey) (string, error) { return "", ErrNoValue }); err == nil && same == text {
		return text
	}
	var b strings.Builder
	open := 0
	for i := range len(text) {
		c := text[i]
		b.WriteByte(c)
		switch {
		case c == '{':
			open++
			b.WriteByte(c)
		case c == '}' && open > 0: // elsewhere }} would stay two
			open--
			b.WriteByte(c)
		}
	}
	return b.String()
}
