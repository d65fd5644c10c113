package gate

import (
	"strings"

	"divisi/internal/lazyregexp"
)

// maxCause bounds the lines of a message that are read for its cause.
const maxCause = 400

var (
	// An error that a JavaScript or Python program ended with. pytest writes E before it.
	thrown = lazyregexp.New(`^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception)\b(?: \[\w+\])?(?::.*)?)$`)
	// Where something happened: the frames of stacks, and the ways in which runners name the file that they could not read.
	frame = lazyregexp.New(`(?:^|[\s('"])((?:[\w@.+-]*/)*[\w@.+\[\]-]+\.[A-Za-z]\w*):(\d+)\b|File "([^"]+)", line (\d+)`)
	// A file without a line, and one whose line is at the end.
	inFile   = lazyregexp.New(`\b(?:in|from) ['"]?((?:[\w@.+-]*/)*[\w@.+-]+\.\w+)['"]?(?:[\s.:]|$)`)
	thrownIn = lazyregexp.New(`Error: ((?:[\w@.+-]*/)*[\w@.+-]+\.\w+): .*\((\d+):\d+\)$`)
	// Code of others.
	foreign = lazyregexp.New(`^(?:/|\.\./|node:|<)|(?:^|/)(?:node_modules|site-packages|dist-packages|\.venv)/|^internal/`)
	// A traceback of Python: the innermost frame is its last.
	traceback = lazyregexp.New(`(?m)^Traceback |^E\s{2,}\S|^\s*File "[^"]+", line \d+`)
	// What jest says before the message that counts.
	preamble = lazyregexp.New(`^Jest (?:encountered an unexpected token|failed to parse)|^Details:|^Require stack:`)
)

// cause returns why a suite could not be loaded, without what differs from run to run, and the line that leads to the innermost
// file of the tree on the way there; "" for what the message does not tell.
func (n normaliser) cause(message string) (cause, at string) {
	var first, raised, file, line, named string
	python := traceback.MatchString(message)
	count := 0
	for text := range strings.Lines(message) {
		if count++; count > maxCause {
			break
		}
		text = strings.TrimSpace(n.rooted(text))
		if text == "" || preamble.MatchString(text) {
			continue
		}
		if first == "" {
			first = text
		}
		if m := thrown.FindStringSubmatch(text); m != nil && (python || raised == "") {
			raised = m[1]
		}
		if at, number := placeIn(text); at != "" && (python || file == "") {
			file, line = at, number
		}
		if m := inFile.FindStringSubmatch(text); m != nil && named == "" && !foreign.MatchString(m[1]) {
			named = m[1]
		}
	}
	if raised != "" {
		first = raised
	}
	cause = n.line(first)
	switch {
	case file != "":
		at = file + ":" + line + ": " + first
	case named != "":
		file, at = named, named
	}
	file = strings.TrimPrefix(file, "./")
	if file != "" && !strings.Contains(cause, file) {
		cause = file + ": " + cause
	}
	return cause, at
}

// placeIn returns the first place that a line gives, in code that is not that of others.
func placeIn(text string) (file, line string) {
	if m := thrownIn.FindStringSubmatch(text); m != nil && !foreign.MatchString(m[1]) {
		return m[1], m[2]
	}
	if m := frame.FindStringSubmatch(text); m != nil && !foreign.MatchString(m[1]+m[3]) {
		return m[1] + m[3], m[2] + m[4]
	}
	return "", ""
}
