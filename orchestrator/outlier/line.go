package outlier

import (
	"path"
	"strings"

	"divisi/internal/lazyregexp"
)

// maxLine bounds the bytes of a line that are compared: a longer one is not written by hand.
const maxLine = 2000

// line is a line of a file that has tokens and is no import.
type line struct {
	number int
	text   string
	tokens []token
	// key is the same for lines that differ in white space, comments and commas alone.
	key string
}

// imports matches the first line of an import, in the languages that have one.
var imports = lazyregexp.New(`^(?:import\b|from\s+\S+\s+import\b|(?:pub(?:\(\w+\))?\s+)?use\s+[\w:{\\].*[;{,]$|` +
	`using\s+[\w.=\s]+;|` +
	`#\s*include\b|require(?:_relative)?\s+['"]|export\b.*\bfrom\s+['"]|(?:const|let|var)\b[^=]*=\s*require\()`)

// linesOf are the lines of a file that count, in their order: blank ones, comments and imports do not.
func linesOf(file string, content []byte) (out []line) {
	comment := "//"
	if mark, ok := comments[strings.ToLower(path.Ext(file))]; ok {
		comment = mark
	}
	until, depth, number := "", 0, 0
	for text := range strings.Lines(string(content)) {
		number++
		text = strings.TrimSpace(text)
		switch {
		case until != "":
			if strings.Contains(text, until) {
				until = ""
			}
			continue
		case depth > 0:
			depth += open(text)
			continue
		case imports.MatchString(text):
			depth = open(text)
			continue
		}
		if until = begins(text, comment); until != "" {
			if strings.Contains(text[len(until):], until) {
				until = ""
			}
			continue
		}
		if len(text) > maxLine {
			continue
		}
		if tokens := tokensOf(text, number, comment); len(tokens) > 0 {
			out = append(out, line{number, text, tokens, keyOf(tokens)})
		}
	}
	return out
}

// begins returns the end of the comment or the text of a documentation that begins a line; "" where none does.
func begins(text, comment string) string {
	switch {
	case comment == "//" && strings.HasPrefix(text, "/*"):
		return "*/"
	case comment == "#" && strings.HasPrefix(text, `"""`):
		return `"""`
	case comment == "#" && strings.HasPrefix(text, `'''`):
		return `'''`
	}
	return ""
}

// open counts the brackets that a line leaves open.
func open(text string) int {
	return strings.Count(text, "(") + strings.Count(text, "{") - strings.Count(text, ")") - strings.Count(text, "}")
}

func keyOf(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
		b.WriteByte(' ')
	}
	return b.String()
}
