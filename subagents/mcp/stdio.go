package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// Starter starts the programs of servers, confined.
type Starter interface {
	// Start starts a program with the environment of the role's commands and env. ctx bounds the starting alone: the process goes
	// on until it is closed. It may be called from several goroutines.
	Start(ctx context.Context, args, env []string) (Process, error)
}

// Process is a program that runs. Reading yields its standard output, writing goes to its standard input; both may be done at
// once, and a write that the program does not take in within a few seconds fails.
type Process interface {
	// ReadWriteCloser's Close ends the program's standard input, then, when it does not end by itself, the program with
	// everything that it started, and returns when they are gone. It ends reads and writes under way, and may be called often.
	io.ReadWriteCloser
	// Tail is the end of what the program wrote to its standard error, a few kilobytes at most. It may be called at any time.
	Tail() string
}

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 16 << 20

// lines passes on what of a program's output can be a message: lines that begin with a brace or a bracket. Many programs greet or
// log where only messages belong; that is passed over.
type lines struct {
	io.Closer
	from *bufio.Reader
	// rest is the remainder of the current piece of a line; inside reports that the next piece continues that line, kept that the
	// line is passed on.
	rest         []byte
	inside, kept bool
}

func newLines(p Process) *lines { return &lines{Closer: p, from: bufio.NewReaderSize(p, 64<<10)} }

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		piece, err := l.from.ReadSlice('\n')
		if len(piece) == 0 && err != nil {
			return 0, err
		}
		if !l.inside {
			start := bytes.TrimLeft(piece, " \t\r")
			l.kept = bytes.HasPrefix(start, []byte("{")) || bytes.HasPrefix(start, []byte("["))
		}
		l.inside = piece[len(piece)-1] != '\n'
		if l.kept {
			l.rest = piece
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}
