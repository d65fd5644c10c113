package finding

import (
	"bytes"
	"strings"
)

// The bounds of one document: its bytes, and how deep its brackets are.
const (
	MaxDocument = 32 << 20
	maxDepth    = 200
)

// cutMark is added to each object that is not whole, which part reads.
const cutMark = `,"$cut":true`

// part is a piece of a document that can be cut.
type part struct {
	Cut bool `json:"$cut"`
}

// Document collects the lines of one JSON document in an output. Its zero value waits for the first one.
type Document struct {
	text bytes.Buffer
	// open are the brackets that are not closed, quoted and escaped the state inside of a string.
	open            []byte
	quoted, escaped bool
	// whole is where the last bracket was closed, and depth how many were open there.
	whole, depth int
}

// Open reports whether a document has begun.
func (d *Document) Open() bool { return len(d.open) > 0 || d.quoted }

// Add takes a line where it begins a document or continues one. ended reports whether that is over: at its last bracket, behind
// which is rest, or because the line, which is rest then, cannot belong to it.
func (d *Document) Add(line string) (taken, ended bool, rest string) {
	switch trimmed := strings.TrimLeft(line, " \t"); {
	case !d.Open() && !begins(trimmed):
		return false, false, line
	case d.Open() && (d.quoted || !d.continues(trimmed) || d.text.Len()+len(line) > MaxDocument):
		return true, true, line // a string ends in its line
	}
	at := d.scan(line)
	if at >= 0 {
		line, rest = line[:at], line[at:]
	}
	d.text.WriteString(line)
	d.text.WriteByte('\n')
	return true, at >= 0, rest
}

// begins reports whether a document begins with a line: with a key, or an object in a list, or a bracket alone.
func begins(line string) bool {
	switch {
	case line == "", line[0] != '{' && line[0] != '[':
		return false
	case strings.TrimSpace(line[1:]) == "":
		return true
	case line[0] == '{':
		return strings.HasPrefix(strings.TrimLeft(line[1:], " "), `"`)
	default:
		return strings.HasPrefix(strings.TrimLeft(line[1:], " "), "{")
	}
}

// continues reports whether a line can be part of a document: the first one after a bracket alone is a key, an object or the end.
func (d *Document) continues(line string) bool {
	switch first := d.text.Len() <= 2; {
	case line == "":
		return true
	case first:
		return strings.IndexByte(`{}]"`, line[0]) >= 0
	default:
		return strings.IndexByte(`{}[]",:-0123456789tfn`, line[0]) >= 0
	}
}

// scan follows the brackets of a line, and returns the end of the document in it; -1 while that is open.
func (d *Document) scan(line string) int {
	for i := range len(line) {
		switch c := line[i]; {
		case d.escaped:
			d.escaped = false
		case d.quoted:
			d.escaped, d.quoted = c == '\\', c != '"'
		case c == '"':
			d.quoted = true
		case c == '{', c == '[':
			if d.open = append(d.open, c+2); len(d.open) > maxDepth { // the other bracket is two bytes on
				d.open = d.open[:0]
				return len(line)
			}
		case c == '}', c == ']':
			if c != d.open[len(d.open)-1] {
				d.open = d.open[:0]
				return len(line)
			}
			d.open = d.open[:len(d.open)-1]
			d.whole, d.depth = d.text.Len()+i+1, len(d.open)
			if d.depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// Take returns the lines so far, and the document in them: what is whole of it where it is cut. The next one may begin then.
func (d *Document) Take() (lines string, document []byte, cut bool) {
	lines, cut = d.text.String(), d.Open()
	document = []byte(lines)
	if cut {
		document = document[:d.whole]
		for i := d.depth - 1; i >= 0; i-- {
			if d.open[i] == '}' {
				document = append(document, cutMark...)
			}
			document = append(document, d.open[i])
		}
	}
	*d = Document{}
	return lines, document, cut
}
