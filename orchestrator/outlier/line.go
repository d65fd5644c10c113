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
	r, number := reader{comment: comment}, 0
	for text := range strings.Lines(string(content)) {
		number++
		if text = strings.TrimSpace(text); !r.counts(text) {
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

// reader tells the lines that count from comments, documentation and imports.
type reader struct {
	comment string
	// until ends a comment or documentation, text another text of several lines; depth is what an import leaves open.
	until, text string
	depth       int
}

func (r *reader) counts(line string) bool {
	switch {
	case r.until != "":
		if strings.Contains(line, r.until) {
			r.until = ""
		}
		return false
	case r.depth > 0:
		r.depth += open(line)
		return false
	case r.text != "":
		if strings.Count(line, r.text)%2 == 1 {
			r.text = ""
		}
		return true
	case imports.MatchString(line):
		r.depth = open(line)
		return false
	}
	if end, rest := begins(line, r.comment); end != "" {
		if !strings.Contains(rest, end) {
			r.until = end
		}
		return false
	}
	for _, mark := range texts {
		if r.comment == "#" && strings.Count(line, mark)%2 == 1 {
			r.text = mark
		}
	}
	return true
}

// texts are the marks around texts of several lines in Python.
var texts = []string{`"""`, `'''`}

// begins returns the end of the comment or the text of a documentation that begins a line, and what follows there; "" where none
// does.
func begins(line, comment string) (end, rest string) {
	if rest, ok := strings.CutPrefix(line, "/*"); ok && comment == "//" {
		return "*/", rest
	}
	for _, mark := range texts {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "rRbBuUfF"), mark); ok && comment == "#" {
			return mark, rest
		}
	}
	return "", ""
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
