package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"divisi/internal/text"
)

// maxSequence bounds an escape sequence: what does not end within it is shown without its introducer, not hidden.
const maxSequence = 256

// Sanitize makes text from elsewhere safe to print on one line of a terminal: escape sequences, control characters,
// invisible and direction-changing characters are removed, white space becomes single spaces.
func Sanitize(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case text.Hidden(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// SanitizeLines keeps line breaks and indentation, and nothing else that a terminal would obey.
func SanitizeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		text := strings.ReplaceAll(lines[i], "\t", "    ")
		rest := strings.TrimLeft(text, " ")
		lines[i] = text[:len(text)-len(rest)] + Sanitize(rest)
	}
	return strings.Join(lines, "\n")
}

// Indent puts two spaces before each line: none of them can pass for a line of this program.
func Indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// Visible shows what a terminal would obey, in a text of several lines: an error may name files of a repository that is not
// trusted. Spaces stay, because marks stand under source lines.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		if r == '\t' {
			return ' ' // one column, as the marks below it count
		}
		return unicode.ReplacementChar
	}, text)
}

// clean reports whether there is nothing to do, which is so for nearly all text.
func clean(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			return false
		}
	}
	return true
}

// sequence returns the length of the escape sequence that s begins with; 0 for none.
func sequence(s string) int {
	kind, n := introducer(s)
	switch kind {
	case 0:
		return 0
	case '[':
		return n + control(s[n:])
	case ']', 'P', 'X', '^', '_':
		return n + str(s[n:])
	}
	return n + intermediate(s[n:])
}

// introducer returns what opens a sequence, in its seven-bit form, and its length. 'e' stands for a short escape.
func introducer(s string) (byte, int) {
	if s[0] == 0x1b {
		if len(s) > 1 && strings.IndexByte("[]PX^_", s[1]) >= 0 {
			return s[1], 2
		}
		return 'e', 1
	}
	if len(s) > 1 && s[0] == 0xc2 {
		switch s[1] {
		case 0x9b:
			return '[', 2
		case 0x9d:
			return ']', 2
		case 0x90:
			return 'P', 2
		case 0x98, 0x9e, 0x9f:
			return 'X', 2
		}
	}
	return 0, 0
}

// control returns the length of a control sequence's parameters and final byte; 0 when it has none.
func control(s string) int {
	for i := 0; i < len(s) && i < maxSequence; i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return 0
}

// str returns the length of a string sequence up to and with its end; 0 when none is near.
func str(s string) int {
	for i := 0; i < len(s) && i < maxSequence; i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\', s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		}
	}
	return 0
}

// intermediate returns the length of a short escape's rest, such as "(B"; 0 when it has none.
func intermediate(s string) int {
	i := 0
	for i < len(s) && i < maxSequence && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return 0
}
