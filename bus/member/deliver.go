package member

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// streamBuffer is as much as one record of TLS has.
const streamBuffer = 16 << 10

// answersTo begins where a task is answered.
var answersTo = []byte("$JS.ACK.TASKS.")

// pong is how the server answers a ping.
var pong = []byte("PONG")

// Deliver copies what a server sends to a client until its end, with the line by which it greets as Greet writes it. It tells
// the watch that the client was let in, and which tasks it gets.
func Deliver(to io.Writer, from io.Reader, w Told) error {
	r, out := bufio.NewReaderSize(from, streamBuffer), bufio.NewWriterSize(to, streamBuffer)
	err := Greet(out, r)
	for err == nil {
		if r.Buffered() == 0 {
			err = out.Flush()
		}
		if err == nil {
			err = deliverLine(out, r, w)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, out.Flush())
}

// deliverLine copies one line of the server, and the message that it announces.
func deliverLine(to io.Writer, r *bufio.Reader, w Told) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		_, _ = to.Write(line) // what the server says last may be cut; the error ends the connection
		return err
	}
	size, pass := 0, true
	if bytes.HasPrefix(line, pong) { // a server answers none before it has let the client in
		if err := w.Proven(); err != nil {
			_, told := fmt.Fprintf(to, "-ERR '%s'\r\n", strings.ReplaceAll(err.Error(), "'", ""))
			return errors.Join(err, told)
		}
	}
	if bytes.HasPrefix(line, []byte("MSG ")) || bytes.HasPrefix(line, []byte("HMSG ")) {
		announced := bytes.TrimRight(line, "\r\n")
		if size, err = strconv.Atoi(string(announced[bytes.LastIndexByte(announced, ' ')+1:])); err != nil {
			return fmt.Errorf("the server sends a message of %.80q: %w", line, err)
		}
		size += len("\r\n")
		pass = delivers(announced, w)
	}
	if !pass {
		_, err = r.Discard(size)
		return err
	}
	if _, err = to.Write(line); err == nil && size > 0 {
		_, err = io.CopyN(to, r, int64(size))
	}
	return err
}

// delivers tells the watch of a task, MSG <subject> <subscription> <answers> [header] <size>, and reports whether the client is
// to have it. Other messages it is to have.
func delivers(announced []byte, w Told) bool {
	if !bytes.Contains(announced, answersTo) {
		return true
	}
	args := bytes.Fields(announced)
	return len(args) < 5 || !bytes.HasPrefix(args[3], answersTo) || w.Deliver(string(args[1]), string(args[3]))
}
