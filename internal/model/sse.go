package model

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 64 << 20

// doneMark is how OpenAI's services, and many gateways, end a stream.
const doneMark = "[DONE]"

var errEventTooLong = errors.New("an event of the stream is too long")

// eventReader reads a server-sent event stream. It understands comments, other fields, any line ending, data over several
// lines, a byte order mark and a bare JSON document in place of a stream.
type eventReader struct {
	in    *bufio.Reader
	limit int // of one event, in bytes

	event bytes.Buffer // data of the current event
	open  bool         // the current event has data
	raw   bool         // the current event is a bare JSON document
	skip  bool         // the last line ended in CR: an LF that follows belongs to it
	first bool         // a line was read
	end   error        // how the stream ended
}

func newEventReader(src io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(src, 32<<10), limit: maxEvent}
}

// next returns the data of the next event, good until the call after it; io.EOF behind the last one. When reading fails the
// event under way is dropped: it may be half of one.
func (r *eventReader) next() ([]byte, error) {
	r.clear()
	for r.end == nil {
		line, err := r.line()
		if err == nil || (errors.Is(err, io.EOF) && len(line) > 0) {
			whole, tooLong := r.take(line)
			if whole {
				return r.data(), nil
			}
			err = cmp.Or(tooLong, err)
		}
		r.end = err
	}
	// Servers forget the last empty line; a cut event is no JSON and fails there.
	if data := r.data(); len(data) > 0 && errors.Is(r.end, io.EOF) {
		return data, nil
	}
	return nil, r.end
}

func (r *eventReader) data() []byte { return bytes.TrimSpace(r.event.Bytes()) }

func (r *eventReader) clear() {
	r.event.Reset()
	r.open, r.raw = false, false
}

// line reads up to LF, CR or CRLF and returns the line without it.
func (r *eventReader) line() ([]byte, error) {
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
func (r *eventReader) rest(line []byte) []byte {
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

// take handles one line and says whether the event is whole.
func (r *eventReader) take(line []byte) (bool, error) {
	if !r.first {
		line, r.first = bytes.TrimPrefix(line, []byte("\uFEFF")), true
	}
	if len(line) == 0 {
		return r.boundary(), nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case r.raw || (!r.open && line[0] == '{'):
		r.raw = true
		return false, r.add(line)
	case string(field) == "data":
		return false, r.add(bytes.TrimPrefix(value, []byte(" ")))
	}
	return false, nil // a comment, or a field that means nothing here
}

// boundary handles an empty line. A bare document may contain some.
func (r *eventReader) boundary() bool {
	if r.raw && !json.Valid(r.event.Bytes()) {
		return false
	}
	if len(r.data()) > 0 {
		return true
	}
	r.clear()
	return false
}

func (r *eventReader) add(data []byte) error {
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

// reframer rewrites a stream of events into the one form that the SDK can parse: "data: JSON" and an empty line. [DONE] is
// left out. A read error ends the stream: it is reported to failed and not to the reader.
type reframer struct {
	src    io.ReadCloser
	events *eventReader
	failed func(error)

	out  bytes.Buffer // framed, not yet read
	done bool
}

func newReframer(src io.ReadCloser, failed func(error)) *reframer {
	return &reframer{src: src, events: newEventReader(src), failed: failed}
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

// step reads one event.
func (r *reframer) step() {
	data, err := r.events.next()
	if err != nil {
		r.done = true
		if !errors.Is(err, io.EOF) {
			r.failed(err)
		}
		return
	}
	if string(data) != doneMark {
		r.out.WriteString("data: ")
		r.out.Write(data)
		r.out.WriteString("\n\n")
	}
}
