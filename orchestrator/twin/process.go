package twin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/shim"
)

// drainWait bounds how long a process that a command left can hold its output.
const drainWait = 2 * time.Second

// run runs a command outside the sandbox, without a terminal or input, in a session of its own. It ends with all that it started.
func (t *twin) run(ctx context.Context, c sandbox.Command) (*sandbox.Output, error) {
	out, err := start(ctx, c, false)
	_, swept := sandbox.Sweep(t.id, worker)
	return out, errors.Join(err, swept)
}

// start runs a command until it ends, with the rest of its session. A service is told to end, and killed where it does not.
func start(ctx context.Context, c sandbox.Command, service bool) (*sandbox.Output, error) {
	path, err := program(&c)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(timed, path, c.Args[1:]...) // the user has agreed to run it
	kept := &tail{}
	heard := writer{c, kept}
	cmd.Args[0], cmd.Dir, cmd.Env, cmd.WaitDelay, cmd.Stdout, cmd.Stderr = c.Args[0], c.Dir, c.Env, drainWait, heard, heard
	shim.Apart(cmd)
	kill := cmd.Cancel
	if service {
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	err = cmd.Wait()
	_ = kill() // what it left in its group; there may be nothing
	ended := errors.As(err, new(*exec.ExitError)) || errors.Is(err, exec.ErrWaitDelay) || timed.Err() != nil
	if err != nil && !ended {
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	out := &sandbox.Output{
		ExitCode: cmd.ProcessState.ExitCode(), Tail: []byte(kept.String()), Duration: time.Since(begin),
		Cancelled: ctx.Err() != nil, TimedOut: ctx.Err() == nil && timed.Err() != nil,
	}
	if out.ExitCode < 0 {
		out.Signal = strings.TrimPrefix(cmd.ProcessState.String(), "signal: ")
	}
	return out, nil
}

// program finds what a command runs, as the sandbox does: by the PATH of its environment, or from its directory.
func program(c *sandbox.Command) (string, error) {
	path, missing := c.Args[0], &sandbox.NotFoundError{Name: c.Args[0]}
	switch {
	case !strings.Contains(path, "/"):
		missing.Path = stage.Lookup(c.Env, "PATH")
		path = shim.Find(missing.Path, path)
	case !filepath.IsAbs(path):
		path = filepath.Join(c.Dir, path)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", missing
	}
	return path, nil
}

// writer hands the output of a command on.
type writer struct {
	sandbox.Command
	kept *tail
}

// Write never fails: a command must not die of a closed pipe.
func (w writer) Write(p []byte) (int, error) {
	if w.OnOutput != nil {
		w.OnOutput(p)
	}
	if w.Sink != nil {
		_, _ = w.Sink.Write(p) // a tail
	}
	return w.kept.Write(p)
}

// maxOutput bounds, in bytes, what is kept of an output.
const maxOutput = 1 << 20

// tail keeps the end of what is written.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	if t.kept = append(t.kept, p...); len(t.kept) > 2*maxOutput {
		t.kept = append([]byte{}, t.kept[len(t.kept)-maxOutput:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
