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
	lines *bufio.Scanner
	limit int // of one event, in bytes

	event bytes.Buffer // data of the current event
	open  bool         // the current event has data
	raw   bool         // the current event is a bare JSON document
	first bool         // a line was read
	end   error        // how the stream ended
}

func newEventReader(src io.Reader) *eventReader {
	lines := bufio.NewScanner(src)
	lines.Buffer(make([]byte, 0, 32<<10), maxEvent)
	lines.Split(splitLines())
	return &eventReader{lines: lines, limit: maxEvent}
}

// splitLines splits at LF, CR and CRLF. A line that ends in CR is passed on before the LF that may follow it has come.
func splitLines() bufio.SplitFunc {
	cr := false
	return func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		from := 0
		if cr && len(data) > 0 {
			cr = false
			if data[0] == '\n' {
				from = 1
			}
		}
		if n := bytes.IndexAny(data[from:], "\r\n"); n >= 0 {
			cr = data[from+n] == '\r'
			return from + n + 1, data[from : from+n], nil
		}
		if atEOF && len(data) > from {
			return len(data), data[from:], nil
		}
		return from, nil, nil
	}
}

// next returns the data of the next event, good until the call after it; io.EOF behind the last one. When reading fails the
// event under way is dropped: it may be half of one.
func (r *eventReader) next() ([]byte, error) {
	r.clear()
	for r.end == nil {
		if !r.lines.Scan() {
			r.end = cmp.Or(r.lines.Err(), io.EOF)
			break
		}
		whole, err := r.take(r.lines.Bytes())
		if whole {
			return r.data(), nil
		}
		r.end = err
	}
	if errors.Is(r.end, bufio.ErrTooLong) {
		r.end = errEventTooLong
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

// take handles one line and reports whether the event is whole.
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

// Close closes the source. Its error changes nothing: the answer has been read or given up.
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

// ReadEvents hands take the data of each event of a stream, or a bare JSON document in its place, good for that call only. It
// returns at the end of the stream, or with the error that broke it.
func ReadEvents(src io.Reader, take func(data []byte)) error {
	events := newEventReader(src)
	for {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(data)
	}
}
