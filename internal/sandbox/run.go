package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// The variables by which processes are found again after they left their process group.
const (
	// JobVar marks the processes of one command, where it has no process namespace that ends them.
	JobVar = "DIVISI_JOB"
	// RunVar marks the processes of one run, WorkerVar those that one worker has begun; Sweep looks for both.
	RunVar    = "DIVISI_RUN"
	WorkerVar = "DIVISI_WORKER"
	// TaskVar names the task that a command is run for.
	TaskVar = "DIVISI_TASK"
)

// drainWait bounds how long a pipe that a process outside our reach still holds can delay the end of a command.
const drainWait = 2 * time.Second

// Run carries a command out and returns when it and everything that it started are gone. It returns an error only when the
// command could not be started: ErrInvalid, *NotFoundError, the context's error when it was over before, or the system's.
func Run(ctx context.Context, c Command) (*Output, error) {
	return usable().run(ctx, c)
}

// usable is the level of this machine, once this process has shielded itself from commands that share its namespaces.
func usable() Level {
	l := Probe()
	if !l.have(Namespaces) {
		shield()
	}
	return l
}

func (l Level) run(ctx context.Context, c Command) (out *Output, err error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if len(c.Hosts) > 0 && !l.have(Namespaces) {
		return nil, fmt.Errorf("%w: nothing on this machine holds %s to the hosts of its role, because the proxy needs "+
			"namespaces of Linux", ErrInvalid, c.Args[0])
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	c, end, err := l.withOwn(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	j, err := l.start(c)
	if err == nil {
		out, err = j.finish(ctx, c)
	}
	if err != nil {
		return nil, startError(c, err)
	}
	out.Network.Asked = out.Network.Asked || c.Network && !l.have(Namespaces)
	return out, nil
}

// startError names the command that could not be started, where the error does not.
func startError(c Command, err error) error {
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		return missing
	}
	if strings.Contains(c.Args[0], "/") && strings.HasSuffix(err.Error(), syscall.ENOENT.Error()) {
		return c.missing() // the program that the first line of a script names
	}
	return fmt.Errorf("start %s: %w", c.Args[0], err)
}

// streams are the standard streams of a command; those that are nil are nothing's.
type streams struct{ in, out, err *os.File }

// job is one running command. Everything of it belongs to the goroutine that called Run.
type job struct {
	process *process
	begin   time.Time
	pipe    *os.File
	seen    *collector
	drained chan struct{}
	// fed ends the feeding of the command's standard input.
	fed func()
}

func (l Level) start(c Command) (*job, error) {
	pipe, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the output pipe: %w", err)
	}
	defer write.Close() // the child has its own copy; ours only has to go
	errs := write
	if c.DropErrors {
		if errs, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return nil, errors.Join(err, pipe.Close())
		}
		defer errs.Close() // the child has its own copy of it too
	}
	in, fed, err := feed(c.Stdin)
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	j := &job{pipe: pipe, seen: newCollector(c), drained: make(chan struct{}), fed: fed, begin: time.Now()}
	if j.process, err = startProcess(l, c, streams{in, write, errs}); err != nil {
		fed()
		return nil, errors.Join(err, pipe.Close())
	}
	go func() {
		defer close(j.drained)
		// The only errors are the end of the stream and the deadline that drain sets.
		_, _ = io.Copy(j.seen, pipe)
	}()
	return j, nil
}

// finish waits for the command, or ends it, and collects what it left. The error is for one that could not be started.
func (j *job) finish(ctx context.Context, c Command) (*Output, error) {
	out := &Output{}
	over, end := j.process.watchDisk(ctx)
	j.supervise(ctx, c, over, out)
	err := j.process.wait(out)
	end()
	if err != nil && (out.TimedOut || out.Cancelled) {
		out.ExitCode, out.Signal, err = -1, "killed", nil // it was ended before it began
	}
	if j.fed != nil {
		j.fed()
	}
	j.drain()
	j.seen.fill(out)
	out.Duration = time.Since(j.begin)
	return out, err
}

// supervise returns when the command has ended or was told to.
func (j *job) supervise(ctx context.Context, c Command, over <-chan *Excess, out *Output) {
	timeout := time.NewTimer(c.Timeout)
	defer timeout.Stop()
	select {
	case <-j.process.ended():
		return
	case <-timeout.C:
		out.TimedOut = true
	case <-ctx.Done():
		out.Cancelled = true
	case out.OverDisk = <-over:
		j.process.kill()
		return
	}
	j.process.terminate()
	grace := time.NewTimer(c.Grace)
	defer grace.Stop()
	select {
	case <-j.process.ended():
	case <-grace.C:
		j.process.kill()
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

// feed writes data to a pipe, until end is called. Without data there is no pipe.
func feed(data []byte) (in *os.File, end func(), err error) {
	if len(data) == 0 {
		return nil, func() {}, nil
	}
	in, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make the input pipe: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = write.Write(data) // a command need not read it
		_ = write.Close()        // then it finds the end
	}()
	return in, func() {
		_ = in.Close()    // the child has its own copy
		_ = write.Close() // it may be closed already
		<-over
	}, nil
}

// Sweep kills the processes of this user that a dead worker left over: those with DIVISI_RUN=<run> and DIVISI_WORKER=<worker> in
// their environment. It returns how many it killed. The caller is the only living worker of that name in the run; others on this
// machine may work for the same run.
func Sweep(run, worker string) (int, error) {
	if run == "" || worker == "" {
		return 0, fmt.Errorf("%w: sweep needs a run and a worker", ErrInvalid)
	}
	return killMarked(RunVar+"="+run, WorkerVar+"="+worker), nil
}
