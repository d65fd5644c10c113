package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/text"
)

// FileError is everything that is wrong with one file.
type FileError struct {
	// File is the path as a person would write it.
	File string
	// Faults are sorted by place; there is at least one.
	Faults []Fault
}

// Fault is one thing that is wrong, and where.
type Fault struct {
	// Line and Col count from 1; both are 0 where the fault has no place, such as a file that cannot be read.
	Line, Col int
	// Message reports what is wrong.
	Message string
	// Suggest is the nearest valid name or what to write instead; may be empty.
	Suggest string
	// Source is the source line, without control characters and bounded; may be empty.
	Source string
}

// Error lists every error on lines of its own, with the source line and a mark under the place. The path is made safe for a
// terminal too: a repository names its files.
func (e *FileError) Error() string {
	var b strings.Builder
	file := printable(e.File, maxMessage)
	b.WriteString(file + ": " + text.Count(len(e.Faults), "error"))
	for _, f := range e.Faults {
		b.WriteString("\n  ")
		f.write(&b, file)
	}
	return b.String()
}

// First is the first error on one line.
func (e *FileError) First() string {
	var b strings.Builder
	f := e.Faults[0]
	f.Source = ""
	f.write(&b, printable(e.File, maxMessage))
	return b.String()
}

func (f *Fault) write(b *strings.Builder, file string) {
	b.WriteString(file)
	if f.Line > 0 {
		fmt.Fprintf(b, ":%d:%d", f.Line, f.Col)
	}
	b.WriteString(": " + f.Message)
	if f.Suggest != "" {
		fmt.Fprintf(b, " (did you mean %q?)", f.Suggest)
	}
	if f.Source == "" {
		return
	}
	fmt.Fprintf(b, "\n    | %s", f.Source)
	if f.Col > 0 && f.Col <= len([]rune(f.Source))+1 {
		fmt.Fprintf(b, "\n    | %s^", strings.Repeat(" ", f.Col-1))
	}
}

func sortFaults(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// The greatest lengths of what is shown, in characters.
const (
	maxSource  = 160
	maxMessage = 600
)

// printable makes a foreign text safe to show on a line of a terminal.
func printable(line string, most int) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, line)
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
