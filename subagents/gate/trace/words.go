package trace

import (
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// The bounds of one line.
const (
	maxLine  = 4 << 10
	maxWords = 128
	// maxSpaced is of how many words a path with spaces may consist.
	maxSpaced = 6
)

// place is a line number at the end of a path.
var place = lazyregexp.New(`(?:(?::\d+)+:?|\(\d+(?:, ?\d+)?\):?)$`)

// inTraceback is how Python writes a place.
var inTraceback = lazyregexp.New(`File "([^"]+)", line \d+`)

// word is a part of a line that can be a path; placed reports whether a line number is with it, java whether it is that of a
// frame of Java: relative to where classes are kept.
type word struct {
	path         string
	placed, java bool
}

// words returns the parts of a line that can be paths: fields, and the ends of what is between brackets, quotes and colons,
// because a path can have spaces. Most of them name nothing.
func words(line string) []word {
	line = strings.ReplaceAll(text.Head(line, maxLine), "file://", "")
	var out []word
	add := func(name string, placed bool) {
		name = strings.TrimRight(name, ".,;!?/")
		if name != "" && len(out) < maxWords && (placed || strings.ContainsAny(name, "./")) {
			out = append(out, word{name, placed, false})
		}
	}
	for _, m := range javaFrame.FindAllStringSubmatch(line, -1) {
		out = append(out, word{strings.ReplaceAll(m[1], ".", "/") + m[2], true, true})
	}
	for _, m := range inTraceback.FindAllStringSubmatch(line, -1) {
		add(m[1], true)
	}
	for field := range strings.FieldsSeq(line) {
		for _, field := range []string{field, strings.Trim(field, "\"'`,;<>()[]{}")} {
			bare := place.ReplaceAllLiteralString(field, "")
			add(bare, bare != field)
		}
	}
	line = strings.ReplaceAll(line, " - ", "\t")
	delimits := func(r rune) bool { return strings.ContainsRune("\"'`,;<>()[]{}:|=\t", r) }
	for segment := range strings.FieldsFuncSeq(line, delimits) {
		fields := strings.Fields(segment)
		for i := max(0, len(fields)-maxSpaced); i < len(fields); i++ {
			add(strings.Join(fields[i:], " "), false)
		}
	}
	return out
}
