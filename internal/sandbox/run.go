package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// The variables by which processes are found again after they left their process group.
const (
	// JobVar marks the processes of one command.
	JobVar = "DIVISI_JOB"
	// RunVar marks the processes of one run; Sweep looks for it.
	RunVar = "DIVISI_RUN"
)

// drainWait bounds how long a pipe that somebody outside our reach still holds can delay the end of a command.
const drainWait = 2 * time.Second

// Run carries a command out and returns when it and everything that it started are gone. It returns an error only when the
// command could not be started: ErrInvalid, *NotFoundError, the context's error when it was over before, or the system's.
func Run(ctx context.Context, c Command) (*Output, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	j, err := startJob(c, program)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	return j.finish(ctx, c), nil
}

// job is one running command. Everything of it belongs to the goroutine that called Run.
type job struct {
	cmd     *exec.Cmd
	id      string
	release func()
	begin   time.Time
	pipe    *os.File
	seen    *collector
	drained chan struct{}
}

func startJob(c Command, program string) (*job, error) {
	pipe, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the output pipe: %w", err)
	}
	defer write.Close() // the child has its own copy; ours only has to go
	j := &job{id: rand.Text(), pipe: pipe, seen: newCollector(c), drained: make(chan struct{}), begin: time.Now()}
	j.cmd = &exec.Cmd{
		Path: program, Args: c.Args, Dir: c.Dir, Env: append(append([]string{}, c.Env...), "PWD="+c.Dir, JobVar+"="+j.id),
		Stdin: input(c.Stdin), Stdout: write, Stderr: write, WaitDelay: drainWait,
	}
	shield()
	err = listed(j.id, func() (int, error) {
		if j.release, err = launch(j.cmd, c.Writable); err != nil {
			return 0, err
		}
		return j.cmd.Process.Pid, nil
	})
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	go func() {
		defer close(j.drained)
		// The only errors are the end of the stream and the deadline that finish sets.
		_, _ = io.Copy(j.seen, pipe)
	}()
	return j, nil
}

// finish waits, kills what is left and only then collects the exit status: until it is collected the process id, which is
// also the group's, cannot go to somebody else.
func (j *job) finish(ctx context.Context, c Command) *Output {
	defer j.release()
	out := &Output{}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		awaitExit(j.cmd)
	}()
	j.supervise(ctx, c, exited, out)
	killGroup(j.cmd.Process)
	<-exited
	killMarked(JobVar, j.id)
	killOrphans(j.id)
	err := j.cmd.Wait()
	unlist(j.cmd.Process.Pid)
	j.drain()
	j.seen.fill(out)
	out.Duration = time.Since(j.begin)
	j.status(out, err)
	return out
}

// supervise returns when the command has ended or has to be killed.
func (j *job) supervise(ctx context.Context, c Command, exited <-chan struct{}, out *Output) {
	timeout := time.NewTimer(c.Timeout)
	defer timeout.Stop()
	select {
	case <-exited:
		return
	case <-timeout.C:
		out.TimedOut = true
	case <-ctx.Done():
		out.Cancelled = true
	}
	terminateGroup(j.cmd.Process)
	grace := time.NewTimer(c.Grace)
	defer grace.Stop()
	select {
	case <-exited:
	case <-grace.C:
	}
}

func (j *job) drain() {
	late := time.NewTimer(drainWait)
	defer late.Stop()
	select {
	case <-j.drained:
	case <-late.C:
		if err := j.pipe.SetReadDeadline(time.Now()); err != nil {
			_ = j.pipe.Close() // a pipe without deadlines is unblocked by closing it; the second close below is harmless
		}
		<-j.drained
	}
	_ = j.pipe.Close() // a reading end: nothing can be lost
}

func (j *job) status(out *Output, err error) {
	state := j.cmd.ProcessState
	if state == nil {
		// Nothing but a failed wait leaves no state; the command then counts as lost.
		out.ExitCode, out.Signal = -1, fmt.Sprintf("unknown: %v", err)
		return
	}
	out.ExitCode, out.UserTime = state.ExitCode(), state.UserTime()
	out.Signal = signalName(state)
}

func input(data []byte) io.Reader {
	if len(data) == 0 {
		return nil
	}
	return bytes.NewReader(data)
}

// Sweep kills the processes of this user that a dead Divisi left over: those with DIVISI_RUN=<run> in their environment.
// It returns how many it killed. The caller holds the run's lock, so that none of them can belong to a living one.
func Sweep(run string) (int, error) {
	if run == "" {
		return 0, fmt.Errorf("%w: sweep needs a run", ErrInvalid)
	}
	return killMarked(RunVar, run), nil
}
