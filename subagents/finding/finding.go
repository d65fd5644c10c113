// Package finding reads what compilers, linters and test runners report. Its input is one line of their output, its output the
// diagnostic in it: place, code and message. It keeps nothing between two lines.
package finding

import (
	"cmp"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// The bounds of one finding, in bytes.
const (
	maxLine    = 4 << 10
	maxMessage = 400
	// maxNumber bounds the number of a line.
	maxNumber = 1 << 30
)

var (
	// A file with a line, and its column: a.go:1:2: text, a.ts(1,2): text, A.java:[1,2] text, a.go:1.2,3.4: text. A directory can
	// have spaces in its name.
	placed = lazyregexp.New(`^(?:\[\w+\] +|-->\s*|vet: |(?i:fatal error|error|warning): )?` +
		`"?((?:[^\s:()\[\]"]*|[^\s:()\[\]"][^:()\[\]"]*/[^:()\[\]"]*)\.[A-Za-z]\w*)"?` +
		`(?::(\d+)(?:[:.](\d+))?(?:[,-][\d.:]+)?(?:: ?| - |$)|\((\d+)(?:,\s*(\d+))?\)(?:: ?|$)|:\[(\d+),(\d+)\]:? ?)(.*)$`)
	// A line and a column, as eslint prints them below the name of the file; Python's frames.
	below    = lazyregexp.New(`^\s+(\d+):(\d+)\s+(.*)$`)
	inPython = lazyregexp.New(`^\s*File "([^"]+)", line (\d+)`)
	// How bad it is, which stands before the message, with a code.
	severity = lazyregexp.New(`^(?i:fatal error|error|warning|note|info|E|W)(?: (TS\d+)|\[(\w+)\]| \[([\w-]+)\])?(?::|\s) *`)
	// The code of a rule: before the message, or after it in brackets, and two blanks.
	ruleBefore = lazyregexp.New(`^([A-Z]{1,4}\d{2,5})\b:? +`)
	ruleAfter  = lazyregexp.New(`(?: +\[(-W[\w=+-]+|[\w-]+)\]| +\((@?[\w-]+(?:/[\w-]+)*)\))$`)
	rule       = lazyregexp.New(`\s{2,}([@\w-]+(?:/[\w-]+)*)$`) // of eslint
)

// Read returns the diagnostic in a line, without its signature. What gives no place is a message alone.
func Read(line string) spec.Finding {
	line = text.Head(line, maxLine)
	f := spec.Finding{Message: strings.TrimSpace(line)}
	switch m := placed.FindStringSubmatch(strings.TrimSpace(line)); {
	case m != nil:
		f.File, f.Message = strings.TrimPrefix(m[1], "./"), m[8]
		f.Line, f.Column = number(cmp.Or(m[2], m[4], m[6])), number(cmp.Or(m[3], m[5], m[7]))
	default:
		if m := inPython.FindStringSubmatch(line); m != nil {
			f.File, f.Line = m[1], number(m[2])
		} else if m := below.FindStringSubmatch(line); m != nil {
			f.Line, f.Column, f.Message = number(m[1]), number(m[2]), m[3]
		}
	}
	if f.Code, f.Message = code(f.Message); f.Code == "" && f.File == "" && f.Line > 0 {
		if m := rule.FindStringSubmatch(f.Message); m != nil {
			f.Code, f.Message = m[1], strings.TrimSuffix(f.Message, m[0])
		}
	}
	f.Message = text.Head(strings.Join(strings.Fields(f.Message), " "), maxMessage)
	return f
}

// code takes from a message how bad it is and the code of its rule.
func code(message string) (code, rest string) {
	if m := severity.FindStringSubmatch(message); m != nil {
		code, message = cmp.Or(m[1], m[2], m[3]), message[len(m[0]):]
	}
	if m := ruleBefore.FindStringSubmatch(message); m != nil && code == "" {
		return m[1], message[len(m[0]):]
	}
	if m := ruleAfter.FindStringSubmatch(message); m != nil && code == "" {
		return cmp.Or(m[1], m[2]), strings.TrimSuffix(message, m[0])
	}
	return code, message
}

// number reads digits; 0 for what is no sensible number of a line.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxNumber {
		return 0
	}
	return n
}

// Place returns where something is, as one word, and "" without the number of a line. Two findings of one signature are two when
// their places differ.
func Place(f spec.Finding) string {
	if f.Line == 0 {
		return ""
	}
	return f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
}
