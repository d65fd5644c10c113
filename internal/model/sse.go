package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 64 << 20

var errEventTooLong = errors.New("an event of the stream is too long")

// reframer rewrites a server-sent event stream into the one form that the SDK can parse: "data: JSON" and an empty line.
// It understands comments, other fields, any line ending, data over several lines, [DONE], a byte order mark and a bare
// JSON document in place of a stream. A read error ends the stream: it is reported to failed and not to the reader,
// and the event that was being read is dropped.
type reframer struct {
	src    io.ReadCloser
	in     *bufio.Reader
	failed func(error)
	limit  int // of one event, in bytes

	out   bytes.Buffer // framed, not yet read
	event bytes.Buffer // data of the current event
	open  bool         // the current event has data
	raw   bool         // the current event is a bare JSON document
	skip  bool         // the last line ended in CR: an LF that follows belongs to it
	first bool         // a line was read
	done  bool
}

func newReframer(src io.ReadCloser, failed func(error)) *reframer {
	return &reframer{src: src, in: bufio.NewReaderSize(src, 32<<10), failed: failed, limit: maxEvent}
}

// Read implements io.Reader.
func (r *reframer) Read(p []byte) (int, error) {
	for r.out.Len() == 0 && !r.done {
		r.step()
	}
	if r.out.Len() == 0 {
		return 0, io.EOF
	}
	return r.out.Read(p)
}

// Close closes the source. Its error is of no use to anybody: the answer has been read or given up.
func (r *reframer) Close() error {
	if err := r.src.Close(); err != nil {
		r.failed(err)
	}
	return nil
}

// step reads one line.
func (r *reframer) step() {
	line, err := r.line()
	if err == nil || (errors.Is(err, io.EOF) && len(line) > 0) {
		if tooLong := r.take(line); tooLong != nil {
			err = tooLong
		}
	}
	if err == nil {
		return
	}
	r.done = true
	if errors.Is(err, io.EOF) {
		r.dispatch() // servers forget the last empty line; a cut event is no JSON and fails there
		return
	}
	r.failed(err)
}

// line reads up to LF, CR or CRLF and returns the line without it.
func (r *reframer) line() ([]byte, error) {
	var line []byte
	for {
		if len(line) > r.limit {
			return nil, errEventTooLong
		}
		b, err := r.in.ReadByte()
		if err != nil {
			return line, err
		}
		if r.skip {
			r.skip = false
			if b == '\n' {
				continue
			}
		}
		switch b {
		case '\n':
			return line, nil
		case '\r':
			r.skip = true
			return line, nil
		}
		line = append(line, b)
		line = r.rest(line)
	}
}

// rest adds what is buffered up to the next line ending, so that long lines are not copied byte by byte.
func (r *reframer) rest(line []byte) []byte {
	buf, err := r.in.Peek(r.in.Buffered())
	if err != nil {
		return line // Peek of what is buffered cannot fail; the next read would report it
	}
	n := bytes.IndexAny(buf, "\r\n")
	if n < 0 {
		n = len(buf)
	}
	line = append(line, buf[:n]...)
	if _, err := r.in.Discard(n); err != nil {
		return line
	}
	return line
}

// take handles one line.
func (r *reframer) take(line []byte) error {
	if !r.first {
		line, r.first = bytes.TrimPrefix(line, []byte("\uFEFF")), true
	}
	if len(line) == 0 {
		if !r.raw || json.Valid(r.event.Bytes()) { // a bare document may contain empty lines
			r.dispatch()
		}
		return nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case r.raw || (!r.open && line[0] == '{'):
		r.raw = true
		return r.add(line)
	case string(field) == "data":
		return r.add(bytes.TrimPrefix(value, []byte(" ")))
	}
	return nil // a comment, or a field that means nothing here
}

func (r *reframer) add(data []byte) error {
	if r.event.Len()+len(data) > r.limit {
		return errEventTooLong
	}
	if r.open {
		r.event.WriteByte(' ') // between JSON tokens a space is as good as the line break
	}
	r.open = true
	r.event.Write(data)
	return nil
}

func (r *reframer) dispatch() {
	data := bytes.TrimSpace(r.event.Bytes())
	if len(data) > 0 && string(data) != "[DONE]" {
		r.out.WriteString("data: ")
		r.out.Write(data)
		r.out.WriteString("\n\n")
	}
	r.event.Reset()
	r.open, r.raw = false, false
}
