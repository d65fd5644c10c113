// Package gocache lends entries of the user's Go build cache to gates. It is the program that the go command starts for
// GOCACHEPROG: its input are the go command's requests, the gate's cache in the go command's own format, and a Lender outside of
// the gate; its output are answers, and copies in the gate's cache of those entries of the user's that were asked for. Each
// copy's size and SHA-256 are checked, and an entry that does not have them is a miss. It never writes the user's cache, and
// shows it to no command.
package gocache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Marker is the file name that makes a program this one, when it is started by it. Like the stage of a command it is Divisi's own
// program: a second one beside it would have to be found, trusted and updated.
const Marker = "divisi-go-cache"

func init() { //nolint:gochecknoinits // the rest of the program need not be made ready for it
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == Marker {
		os.Exit(perform(os.Args[1:])) //nolint:forbidigo // this is its main
	}
}

// perform is the life of the program: it serves one go command. Its argument is the socket of a Lender; the gate's cache is
// GOCACHE, which the go command always sets.
func perform(args []string) int {
	own := os.Getenv("GOCACHE")
	if len(args) != 1 || !filepath.IsAbs(own) {
		fmt.Fprintf(os.Stderr, "%s: GOCACHEPROG of the go command starts this program\n", Marker)
		return 2
	}
	h := &helper{own: directory(own), lender: args[0]}
	if err := h.serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Marker, err)
		return 1
	}
	return 0
}

// request and answer are those of cmd/go/internal/cacheprog. A body follows its request as a JSON string of its own.
type request struct {
	ID       int64  `json:"ID"`
	Command  string `json:"Command"`
	ActionID []byte `json:"ActionID"`
	OutputID []byte `json:"OutputID"`
	BodySize int64  `json:"BodySize"`
}

type answer struct {
	ID            int64    `json:"ID"`
	Err           string   `json:"Err,omitempty"`
	KnownCommands []string `json:"KnownCommands,omitempty"`
	Miss          bool     `json:"Miss,omitempty"`
	OutputID      []byte   `json:"OutputID,omitempty"`
	Size          int64    `json:"Size,omitempty"`
	DiskPath      string   `json:"DiskPath,omitempty"`
}

// helper answers one go command, one request after the other.
type helper struct {
	own    directory
	lender string
}

func (h *helper) serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return fmt.Errorf("greet the go command: %w", err)
	}
	for {
		var q request
		var body []byte
		err := requests.Decode(&q)
		if errors.Is(err, io.EOF) {
			return nil // the go command was killed, or ends without a farewell
		}
		if err == nil && q.BodySize > 0 {
			err = requests.Decode(&body)
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := answers.Encode(h.answer(q, body)); err != nil || q.Command == "close" {
			return err
		}
	}
}

func (h *helper) answer(q request, body []byte) answer {
	a := answer{ID: q.ID}
	action, err := toID(q.ActionID)
	switch {
	case q.Command == "close":
		return a
	case err == nil && q.Command == "get":
		return h.get(a, action)
	case err == nil && q.Command == "put":
		var output id
		if output, err = toID(q.OutputID); err == nil {
			a.DiskPath, err = h.own.put(action, newEntry(output, q.BodySize), bytes.NewReader(body))
		}
	case err == nil:
		err = fmt.Errorf("unknown command %q", q.Command)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

// get asks the gate's cache, then the Lender. Whatever is wrong with an entry is a miss: compiling is right.
func (h *helper) get(a answer, action id) answer {
	e, path, err := h.own.find(action)
	if err != nil {
		e, path, err = h.own.borrow(action, h.lender)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.lender = "" // it is stuck, and the next request would wait as long
	}
	if a.Miss = err != nil; !a.Miss {
		use(h.own.file(action, "a"))
		use(path)
		a.OutputID, a.Size, a.DiskPath = e.output[:], e.size, path
	}
	return a
}
