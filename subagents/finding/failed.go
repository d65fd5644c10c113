package finding

import (
	"cmp"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// told are the lines of a failed test's report that tell why it failed, the surest first: pytest's E, an exception, a panic of Go or
// Rust, the message of TAP, what vitest points at, what an assertion compared.
var told = []*lazyregexp.Regexp{
	lazyregexp.New(`^E\s{2,}(\S.*)`),
	lazyregexp.New(`^\s*(?:Caused by: )?((?:[\w$]+\.)*\w*(?:Error|Exception|AssertionFailed\w*)\b(?: \[\w+\])?: ?\S.*)`),
	lazyregexp.New(`^(panic: .*)`),
	lazyregexp.New("^(assertion .*failed.*)"),
	lazyregexp.New(`^\s*(?:message|error): ['"]?([^'"|>\s].*?)['"]?$`),
	lazyregexp.New(`^\s*→ (.+)`),
	lazyregexp.New(`^\s*((?:expect\(|expected|Expected:|AssertionError).*)`),
}

var (
	// A block of YAML whose first line is the message.
	block = lazyregexp.New(`^\s*(?:message|error): [|>][-+]?$`)
	// What an assertion compared, a line each: jest, Rust.
	compared = lazyregexp.New(`^\s*((?:Expected|Received|left|right): .*)`)
	// A frame of JavaScript has its place in brackets, or after these.
	inBrackets = lazyregexp.New(`\(([^()\s]+:\d+:\d+)\)$`)
	before     = lazyregexp.New(`^\s*(?:at |❯ |> )?`)
	// A frame says where alone.
	frame = lazyregexp.New(`^in \S+$|^(?:\w+\.)*\w*(?:Error|Exception)$|^File "|^\d+ \+0x`)
)

// Failed returns why a test failed, of the lines that a runner printed of it, without a symbol and a signature. The place is the
// first one of a file that inTree accepts, in Python's tracebacks the innermost one.
func Failed(lines string, inTree func(file string) bool) spec.Finding {
	var f spec.Finding
	at, message, best := spec.Finding{}, "", len(told)
	var both []string
	after := false
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(text.Head(line, maxLine), "\r\n")
		if place := placeIn(line); place.Line > 0 && inTree(place.File) {
			if at.File == "" || inPython.MatchString(line) {
				at = place
			}
			if place.Message != "" && !frame.MatchString(place.Message) {
				message = cmp.Or(message, place.Message)
			}
		}
		if m := compared.FindStringSubmatch(line); m != nil && len(both) < 2 {
			both = append(both, m[1])
		}
		if strings.HasSuffix(f.Message, ":") && strings.TrimSpace(line) != "" {
			f.Message += " " + strings.TrimSpace(line)
		}
		if after && strings.TrimSpace(line) != "" && best > 4 {
			f.Message, best, after = strings.TrimSpace(line), 4, false
		}
		after = after || block.MatchString(line)
		for i, pattern := range told[:best] {
			if m := pattern.FindStringSubmatch(line); m != nil {
				f.Message, best = m[1], i
				break
			}
		}
	}
	f.Message = cmp.Or(f.Message, message)
	if len(both) == 2 && !strings.Contains(f.Message, both[0]) {
		f.Message += " (" + strings.Join(both, ", ") + ")"
	}
	f.Message = text.Head(strings.Join(strings.Fields(f.Message), " "), maxMessage)
	f.File, f.Line, f.Column = at.File, at.Line, at.Column
	return f
}

// placeIn reads a line of a report, or a frame.
func placeIn(line string) spec.Finding {
	if m := inBrackets.FindStringSubmatch(line); m != nil {
		return Read(m[1])
	}
	if inPython.MatchString(line) {
		return Read(line)
	}
	return Read(line[len(before.FindString(line)):])
}
