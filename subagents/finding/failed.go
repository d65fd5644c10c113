package finding

import (
	"cmp"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// told are the lines of a failed test's report that tell why it failed, the surest first: pytest's E, an exception, a panic of Go
// or Rust, the message of TAP, what vitest points at, what an assertion compared.
var told = []*lazyregexp.Regexp{
	lazyregexp.New(`^E\s{2,}(\S.*)`),
	lazyregexp.New(`^\s*(?:Caused by: |Uncaught )?` +
		`((?:[\w$]+\.)*\w*(?:Error|Exception|AssertionFailed\w*)\b(?: \[\w+\])?: ?\S.*)`),
	lazyregexp.New(`^(panic: .*)`),
	lazyregexp.New("^(assertion .*failed.*)"),
	lazyregexp.New(`^\s*(?:message|error): ['"]?([^'"|>\s].*?)['"]?$`),
	lazyregexp.New(`^\s*→ (.+)`),
	lazyregexp.New(`^\s*((?:expect\(|expected|Expected:|Expected values|AssertionError).*)`),
}

// ofTAP is the message of TAP among them.
const ofTAP = 4

var (
	// A block of YAML whose first line is the message.
	block = lazyregexp.New(`^\s*(?:message|error): [|>][-+]?$`)
	// What an assertion compared, a line each: jest, Rust.
	compared = lazyregexp.New(`^\s*((?:Expected|Received|left|right): .*)`)
	// A frame of JavaScript has its place in brackets, or after these.
	inBrackets = lazyregexp.New(`\((?:file://)?([^()\s]+:\d+:\d+)\)$`)
	before     = lazyregexp.New(`^\s*(?:at (?:async )?(?:file://)?|❯ |> )?`)
	// A place above its message: of a Go test, of a panic of Rust.
	headed = lazyregexp.New(`^\s+\w+_test\.go:\d+: ?$| panicked at \S+:\d+:\d+:$`)
	// The last of these is the innermost frame: of Python, and as pytest prints them.
	innermost = lazyregexp.New(`^\s*File "|^\S+\.py:\d+: (?:in \S+|(?:\w+\.)*\w+)?$`)
	// A frame says where alone.
	frame = lazyregexp.New(`^in \S+$|^(?:\w+\.)*\w*(?:Error|Exception)$|^File "|^\d+ \+0x`)
)

// Failed returns why a test failed, of the lines that a runner printed of it, without a symbol and a signature. The place is the
// first one of a file that inTree accepts, in Python's tracebacks the innermost one.
func Failed(lines string, inTree func(file string) bool) spec.Finding {
	r := report{best: len(told)}
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(text.Head(line, maxLine), "\r\n")
		r.place(line, inTree)
		r.words(line)
	}
	f := r.at
	f.Message, f.Code = cmp.Or(r.message, r.beside), ""
	if len(r.both) == 2 && !strings.Contains(f.Message, r.both[0]) {
		f.Message += " (" + strings.Join(r.both, ", ") + ")"
	}
	f.Message = text.Head(strings.Join(strings.Fields(f.Message), " "), maxMessage)
	return f
}

// report collects the lines so far.
type report struct {
	// at is the place, beside what stood there.
	at     spec.Finding
	beside string
	// message is of the pattern best of told; both is what was compared. after reports whether the message is on the next line.
	message string
	best    int
	both    []string
	after   bool
	// below reports whether what stood beside the place is on the next line.
	below bool
}

func (r *report) place(line string, inTree func(file string) bool) {
	place := placeIn(line)
	if r.below = r.below && r.beside == ""; r.below && place.Line == 0 {
		r.beside = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "Error:"))
	}
	if place.Line == 0 || strings.Contains(place.File, "node_modules/") || !inTree(place.File) {
		return
	}
	r.below = r.beside == "" && place.Message == "" && headed.MatchString(line)
	if r.at.File == "" || innermost.MatchString(line) {
		r.at = place
	}
	if !frame.MatchString(place.Message) {
		r.beside = cmp.Or(r.beside, place.Message)
	}
}

func (r *report) words(line string) {
	if m := compared.FindStringSubmatch(line); m != nil && len(r.both) < 2 {
		r.both = append(r.both, m[1])
	}
	said := strings.TrimSpace(line)
	if strings.HasSuffix(r.message, ":") && said != "" {
		r.message += " " + said
	}
	if r.after && said != "" && r.best > ofTAP {
		r.message, r.best, r.after = said, ofTAP, false
	}
	r.after = r.after || block.MatchString(line)
	for i, pattern := range told[:r.best] {
		if m := pattern.FindStringSubmatch(line); m != nil {
			r.message, r.best = m[1], i
			return
		}
	}
}

// placeIn reads a line of a report, or a frame.
func placeIn(line string) spec.Finding {
	if _, at, ok := strings.Cut(line, " panicked at "); ok {
		return Read(at)
	}
	if m := inBrackets.FindStringSubmatch(line); m != nil {
		return Read(m[1])
	}
	if inPython.MatchString(line) {
		return Read(line)
	}
	return Read(line[len(before.FindString(line)):])
}
