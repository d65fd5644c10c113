package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// patience is how long a write waits for a program that does not read.
	patience = 10 * time.Second
	// forever is longer than any session.
	forever = 365 * 24 * time.Hour
	// maxTail is how much of a session's standard error is kept, in bytes.
	maxTail = 4 << 10
)

// Session is a confined command that continues until it is closed: a server that is spoken to over its standard input and output.
type Session struct {
	in, out  *os.File
	errors   tail
	patience time.Duration
	grace    time.Duration
	// end has the command killed, ended is closed when it and everything that it started are gone.
	end    context.CancelFunc
	ended  chan struct{}
	closed sync.Once
}

// Start starts a command like Run and returns while it runs; its errors are those of Run. Of the command's fields Stdin, Timeout,
// MaxOutput, OnOutput and Sink have no meaning. ctx bounds the starting alone. The caller that starts a session closes it.
func Start(ctx context.Context, c Command) (*Session, error) {
	c = c.withDefaults()
	c.Timeout = forever
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	s := &Session{patience: patience, grace: c.Grace, ended: make(chan struct{})}
	j, err := s.start(ctx, c)
	if err != nil {
		return nil, startError(c, err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	go func() {
		defer close(s.ended)
		_, _ = j.finish(life, c) // how it ended is not needed
	}()
	return s, nil
}

// start launches the command with pipes of its own. Its standard error is drained like the output of any job.
func (s *Session) start(ctx context.Context, c Command) (_ *job, err error) {
	var theirs, ours []*os.File
	defer func() { err = errors.Join(err, closePipes(theirs)) }() // the child has its own copies
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), closePipes(ours))
		}
		if len(theirs) == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	s.in, s.out = ours[0], ours[1]
	j := &job{pipe: ours[2], seen: newCollector(c), drained: make(chan struct{}), begin: time.Now()}
	j.process, err = startProcess(usable(), c, streams{in: theirs[0], out: theirs[1], err: theirs[2]})
	if err != nil {
		return nil, errors.Join(err, closePipes(ours))
	}
	_ = closePipes(theirs) // the stage has its own: when that ends, what it wrote must end
	theirs = nil
	go func() {
		defer close(j.drained)
		_, _ = io.Copy(&s.errors, j.pipe) // as in start of a job
	}()
	stop := context.AfterFunc(ctx, j.process.kill)
	defer stop()
	if err := j.process.begun(); err != nil {
		_, _ = j.finish(ctx, c) // that it did not begin is said already
		return nil, errors.Join(err, closePipes(ours[:2]))
	}
	return j, nil
}

func closePipes(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Read reads from the command's standard output.
func (s *Session) Read(p []byte) (int, error) { return s.out.Read(p) }

// Write writes to the command's standard input. It fails when the command takes nothing in for ten seconds; then the input ends.
func (s *Session) Write(p []byte) (int, error) {
	err := s.in.SetWriteDeadline(time.Now().Add(s.patience))
	n := 0
	if err == nil {
		n, err = s.in.Write(p)
	}
	if err != nil {
		_ = s.in.Close() // what was written of a message must not be taken for one
	}
	return n, err
}

// Tail is the end of what the command has written to its standard error, 4 KiB at most.
func (s *Session) Tail() string { return s.errors.String() }

// Close ends the command's standard input, ends the command and everything that it started when it does not end soon by itself,
// and returns when they are gone. It ends reads and writes under way, and may be called often.
func (s *Session) Close() error {
	s.closed.Do(func() {
		_ = s.in.Close() // a second time after a failed write
		late := time.AfterFunc(s.grace, s.end)
		<-s.ended
		late.Stop()
		s.end()
		_ = s.out.Close() // a reading end: nothing can be lost that is still read
	})
	<-s.ended
	return nil
}

// tail keeps the end of a stream.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if len(t.data) > 2*maxTail {
		t.data = append(t.data[:0], t.data[len(t.data)-maxTail:]...)
	}
	return len(p), nil
}

// String returns the kept text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data[max(0, len(t.data)-maxTail):])
}
