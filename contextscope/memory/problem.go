package memory

import (
	"fmt"
	"strings"
	"unicode"
)

// Problem is one note that could not be read, or something about the notes that a person should know.
type Problem struct {
	// File is the note's path as a person would write it, below the repository's top.
	File string `json:"file"`
	// Line and Col count from 1; both are 0 where the fault has no place.
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Message string `json:"message"`
}

// ParseError is the error of a note that cannot be read.
type ParseError struct{ Problem }

// Error says where and what, on one line.
func (e *ParseError) Error() string { return e.String() }

// String is file:line:col and what is wrong, on one line that is safe for a terminal: a repository names its files.
func (p Problem) String() string {
	at := ""
	if p.Line > 0 {
		at = fmt.Sprintf(":%d:%d", p.Line, p.Col)
	}
	return oneLine(p.File, maxPlace) + at + ": " + oneLine(p.Message, maxMessage)
}

// The greatest lengths of what is shown of foreign names and messages, in characters.
const (
	maxPlace   = 300
	maxMessage = 500
)

// oneLine makes a foreign text one line without control or invisible characters, of at most so many characters.
func oneLine(s string, most int) string {
	var b strings.Builder
	space, n := false, 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case hidden(r):
			continue
		}
		if space && n < most-1 {
			b.WriteByte(' ')
			n++
		}
		if n >= most {
			break
		}
		b.WriteRune(r)
		space = false
		n++
	}
	return b.String()
}

// visible drops control and invisible characters, but keeps lines and tabs.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hidden(r) {
			return -1
		}
		return r
	}, s)
}

// hidden reports whether a character is not seen as itself. The two joiners stay: some scripts are spelt with them.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}
