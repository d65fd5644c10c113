package bill

import (
	"bytes"
	"slices"
)

// maxObject bounds, in bytes, a line, and an object of many lines: a longer one is passed over.
const maxObject = 4 << 20

// Reader reads the output of one process as it comes, in bounded memory. An object is a line, or, as programs print it for
// people, the lines from "{" to "}". Everything else is passed over.
type Reader struct {
	fold func(*Bill, []byte)
	bill Bill
	// line is the line that has begun, object the object of many lines; object is nil outside of one.
	line, object []byte
	// long reports that the line is too long.
	long bool
}

// NewReader makes a reader for one of spec.CodingAgents; for every other name it reads nothing.
func NewReader(agent string) *Reader { return &Reader{fold: folds[agent]} }

// Write takes the next bytes; it never fails.
func (r *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for r.fold != nil && len(p) > 0 {
		text, rest, ended := bytes.Cut(p, []byte("\n"))
		if r.long = r.long || len(r.line)+len(text) > maxObject; r.long {
			r.line = r.line[:0]
		} else {
			r.line = append(r.line, text...)
		}
		if p = rest; ended {
			r.endLine()
		}
	}
	return n, nil
}

// Bill is the report up to now, with the line that has no end.
func (r *Reader) Bill() Bill {
	if r.fold != nil {
		r.endLine()
	}
	b := r.bill
	b.Lines = slices.Clone(b.Lines)
	for last := maxLines - 1; len(b.Lines) > maxLines; { // no agent uses so many models
		over := b.Lines[len(b.Lines)-1]
		b.Lines = b.Lines[:len(b.Lines)-1]
		sum := &b.Lines[last]
		sum.Model, sum.Usage, sum.Cost = "", sum.Usage.Add(over.Usage), sum.Cost.Plus(over.Cost)
	}
	return b
}

// maxLines bounds the lines of a bill: those above it are one, without a model.
const maxLines = 20

func (r *Reader) endLine() {
	line := bytes.TrimRight(r.line, " \t\r")
	switch {
	case r.long:
		r.object = nil
	case string(line) == "{":
		r.object = append([]byte{}, line...)
	case r.object != nil && len(r.object)+len(line) > maxObject:
		r.object = nil
	case r.object != nil:
		if r.object = append(append(r.object, '\n'), line...); string(line) == "}" {
			r.fold(&r.bill, r.object)
			r.object = nil
		}
	case bytes.HasPrefix(line, []byte("{")):
		r.fold(&r.bill, line)
	}
	r.line, r.long = r.line[:0], false
}
