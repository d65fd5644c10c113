package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// maxIdle bounds the processes of one kind that wait for a question; idleTime is how long one waits.
	maxIdle  = 4
	idleTime = 5 * time.Second
	// maxAsked bounds the questions that one process answers: it keeps some of what it has read.
	maxAsked = 1000
)

// server is one long-lived git, which answers questions on its standard input in their order. One caller at a time has it.
type server struct {
	args   []string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *os.File
	// said is the beginning of what it complained about the newest question.
	said   *capture
	asked  int
	expiry *time.Timer
}

// servers are the processes of one kind that wait for a question. Each goes by itself when none comes, when its repository is
// closed, and with this process, whatever its end.
type servers struct {
	mu   sync.Mutex
	idle []*server
}

// ask puts a question to a process of a kind and has the answer read to its end. A process that died is replaced and asked once
// more: read then restarts. Any other failure ends the process, whose answer may be half read.
func (r *Repo) ask(ctx context.Context, kind *servers, c call, question []byte, read func(*bufio.Reader) error) error {
	for again := true; ; again = false {
		var s *server
		if again { // what killed one can have killed all that wait
			s = kind.take()
		}
		if s == nil {
			var err error
			if s, err = r.g.serve(c); err != nil {
				return err
			}
		}
		err := s.ask(ctx, question, read)
		if err == nil {
			kind.put(s)
			return nil
		}
		err = s.end(err)
		if ctx.Err() != nil {
			return fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
		}
		if exit := (*ExitError)(nil); !again || !errors.As(err, &exit) {
			return err
		}
	}
}

// serve starts a process.
func (g *Git) serve(c call) (_ *server, err error) {
	defer g.spent.Since(time.Now())
	cmd, said, err := g.command(context.Background(), c)
	if err != nil {
		return nil, err
	}
	s := &server{args: c.args, cmd: cmd, said: said}
	failed, complains, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("run git %s: %w", c.args[0], err)
	}
	defer complains.Close() // the process has its own
	cmd.Stderr, s.errors = complains, failed
	if s.in, err = cmd.StdinPipe(); err == nil {
		var out io.Reader
		if out, err = cmd.StdoutPipe(); err == nil {
			s.out = bufio.NewReaderSize(out, 1<<15)
			err = cmd.Start()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run git %s: %w", c.args[0], err), failed.Close())
	}
	return s, nil
}

func (s *server) ask(ctx context.Context, question []byte, read func(*bufio.Reader) error) error {
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() }) // it may have ended
	defer s.listen()()
	written := make(chan error, 1)
	go func() {
		_, err := s.in.Write(question)
		written <- err
	}()
	err := read(s.out)
	if err != nil {
		_ = s.cmd.Process.Kill() // it may still want to answer
	}
	s.asked++
	err = cmp.Or(err, <-written)
	if !stop() { // it is killed, though all may have been read
		err = cmp.Or(err, ctx.Err())
	}
	return err
}

// listen reads complaints until it is stopped: a git that cannot write one would not answer any more.
func (s *server) listen() (stop func()) {
	s.said.buf.Reset()
	s.said.cut = false
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(s.said, s.errors) // until its end, or the deadline
		close(over)
	}()
	return func() {
		_ = s.errors.SetReadDeadline(time.Unix(1, 0))
		<-over
		_ = s.errors.SetReadDeadline(time.Time{})
	}
}

// end ends a process and returns its own failure where that is why it could not be asked, else the failure given.
func (s *server) end(err error) error {
	_ = s.in.Close()
	if err != nil {
		_ = s.cmd.Process.Kill()
	}
	_, _ = io.Copy(s.said, s.errors)
	_ = s.errors.Close()
	_ = s.cmd.Wait() // how it ended does not matter more than why it was ended
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return &ExitError{Args: slices.Clone(s.args), Code: s.cmd.ProcessState.ExitCode(), Stderr: string(s.said.Bytes())}
	}
	return err
}

// take returns a process that waits; nil where none does.
func (p *servers) take() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	s := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	s.expiry.Stop()
	return s
}

// put has a process wait for the next question.
func (p *servers) put(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.asked >= maxAsked || len(p.idle) >= maxIdle {
		_ = s.end(nil)
		return
	}
	s.expiry = time.AfterFunc(idleTime, func() { p.expire(s) })
	p.idle = append(p.idle, s)
}

func (p *servers) expire(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, s); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		_ = s.end(nil)
	}
}

// close ends all that wait.
func (p *servers) close() {
	for s := p.take(); s != nil; s = p.take() {
		_ = s.end(nil)
	}
}
