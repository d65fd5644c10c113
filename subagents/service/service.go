package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// The bounds of a service, where Config sets no other.
const (
	DefaultReady   = time.Minute
	prepareTimeout = 10 * time.Minute
	askTimeout     = 10 * time.Second
	maxOutput      = 1 << 20
)

// Config is the input of the services of one try.
type Config struct {
	Services []spec.Service
	// Command is shared by all commands of the services: tree, environment, keeper. Each has a home and a directory for temporary
	// files of its own, below Dir, which is the try's alone.
	Command sandbox.Command
	Dir     string
	// Prepared keeps what the prepare commands left; it is the same for tries on one tree alone.
	Prepared string
	// Ready bounds how long one service may take to get ready.
	Ready time.Duration
	// Run runs a command in the place of the sandbox; nil for the sandbox.
	Run func(context.Context, sandbox.Command) (*sandbox.Output, error)
}

// FailedError reports a service that could not be prepared, did not get ready, or ended while the gates ran.
type FailedError struct {
	Service, Why string
	// Output is the end of what it printed.
	Output string
}

// Error names the service and what became of it.
func (e *FailedError) Error() string { return fmt.Sprintf("service %s %s", e.Service, e.Why) }

// Set are the services of one try.
type Set struct {
	running []*running
	end     context.CancelFunc
}

// running is one service at work.
type running struct {
	name  string
	said  transcript
	ended chan struct{}
	// out and err are set before ended is closed.
	out *sandbox.Output
	err error
}

// Env are the variables that services give to the gates, as NAME=value.
func Env(services []spec.Service) (env []string) {
	for _, s := range services {
		for name, value := range s.Env {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Start starts the services in their order, each when the one before it is ready. A service that fails is a *FailedError; then
// none is left running. The caller closes the set.
func Start(ctx context.Context, c Config) (*Set, error) {
	if c.Ready <= 0 {
		c.Ready = DefaultReady
	}
	if c.Run == nil {
		c.Run = sandbox.Run
	}
	life, end := context.WithCancel(ctx)
	s := &Set{end: end}
	for _, one := range c.Services {
		if err := s.add(life, &c, one); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// add starts one service and waits until it is ready.
func (s *Set) add(ctx context.Context, c *Config, one spec.Service) error {
	home := filepath.Join(c.Dir, one.Name, "home")
	if err := c.begin(ctx, one, home); err != nil {
		return err
	}
	command, err := c.command(one, home, one.Command)
	if err != nil {
		return err
	}
	r := &running{name: one.Name, ended: make(chan struct{})}
	command.Timeout, command.OnOutput = 365*24*time.Hour, r.said.write
	s.running = append(s.running, r)
	go func() {
		defer close(r.ended)
		r.out, r.err = c.Run(ctx, command)
	}()
	return c.await(ctx, one, home, r)
}

// begin makes the home that a service starts with: a copy of what prepare left, which runs before the first try on the tree.
func (c *Config) begin(ctx context.Context, one spec.Service, home string) error {
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
		return fmt.Errorf("make the home of service %s: %w", one.Name, err)
	}
	if len(one.Prepare) == 0 {
		return os.Mkdir(home, 0o700)
	}
	left := filepath.Join(c.Prepared, one.Name)
	if _, err := os.Stat(left); errors.Is(err, fs.ErrNotExist) {
		if err := c.prepare(ctx, one, left); err != nil {
			return err
		}
	}
	if err := copyTree(left, home); err != nil {
		return fmt.Errorf("copy the home of service %s: %w", one.Name, err)
	}
	return nil
}

// prepare runs a service's prepare command. What it leaves counts once it has ended well: a kill leaves nothing that does.
func (c *Config) prepare(ctx context.Context, one spec.Service, left string) error {
	if err := os.MkdirAll(c.Prepared, 0o700); err != nil {
		return fmt.Errorf("prepare service %s: %w", one.Name, err)
	}
	home, err := os.MkdirTemp(c.Prepared, ".half-")
	if err != nil {
		return fmt.Errorf("prepare service %s: %w", one.Name, err)
	}
	command, err := c.command(one, home, one.Prepare)
	if err != nil {
		return err
	}
	command.Timeout = prepareTimeout
	out, err := c.Run(ctx, command)
	switch {
	case err != nil:
		return c.notStarted(one, "prepare", err)
	case out.Cancelled:
		return fmt.Errorf("prepare service %s: %w", one.Name, context.Cause(ctx))
	case !out.Success():
		return &FailedError{one.Name, "could not be prepared: " + ending(out), out.Text()}
	}
	if err := os.Rename(home, left); err != nil && !errors.Is(err, fs.ErrExist) { // another try was faster
		return fmt.Errorf("prepare service %s: %w", one.Name, err)
	}
	return nil
}

// command is one command of a service, in its home.
func (c *Config) command(one spec.Service, home string, args []string) (sandbox.Command, error) {
	command := c.Command
	command.Args, command.Place.Home, command.Place.KeepTree = args, home, true
	command.Place.Temp = filepath.Join(c.Dir, one.Name, "tmp")
	seen := command.Place.Seen()
	command.Env = append(slices.Concat(c.Command.Env, Env(c.Services)), "HOME="+seen.Home, "TMPDIR="+seen.Temp)
	if err := os.MkdirAll(command.Place.Temp, 0o700); err != nil {
		return command, fmt.Errorf("make a directory of service %s: %w", one.Name, err)
	}
	return command, nil
}

// await asks a service whether it is ready until it is, has ended, or has taken too long.
func (c *Config) await(ctx context.Context, one spec.Service, home string, r *running) error {
	command, err := c.command(one, home, one.Ready)
	if err != nil {
		return err
	}
	command.Timeout = askTimeout
	late := time.NewTimer(c.Ready)
	defer late.Stop()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		out, err := c.Run(ctx, command)
		if err != nil {
			return c.notStarted(one, "ready", err)
		}
		if failed := r.failed(); failed != nil && ctx.Err() == nil {
			return failed
		}
		if out.Success() {
			return nil
		}
		again := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			again.Stop()
			return fmt.Errorf("wait for service %s: %w", one.Name, context.Cause(ctx))
		case <-late.C:
			again.Stop()
			return &FailedError{
				one.Name, fmt.Sprintf("was not ready after %s: %s: %s", c.Ready, one.Ready[0], ending(out)), r.said.String(),
			}
		case <-r.ended:
			again.Stop()
		case <-again.C:
		}
	}
}

// notStarted tells a command that does not exist, which is the project's fault, from a failure of the machine.
func (c *Config) notStarted(one spec.Service, what string, err error) error {
	var none *sandbox.NotFoundError
	if errors.As(err, &none) || errors.Is(err, sandbox.ErrInvalid) {
		return &FailedError{Service: one.Name, Why: fmt.Sprintf("has a %s command that cannot be run: %v", what, err)}
	}
	return fmt.Errorf("run the %s command of service %s: %w", what, one.Name, err)
}

// failed is set where the service has ended.
func (r *running) failed() *FailedError {
	select {
	case <-r.ended:
	default:
		return nil
	}
	if r.err != nil {
		return &FailedError{Service: r.name, Why: fmt.Sprintf("cannot be run: %v", r.err)}
	}
	why := fmt.Sprintf("ended by itself (%s): its command must stay in the foreground", ending(r.out))
	return &FailedError{r.name, why, r.said.String()}
}

// Failed is the first service that has ended by itself; nil while all run.
func (s *Set) Failed() *FailedError {
	for _, r := range s.running {
		if failed := r.failed(); failed != nil {
			return failed
		}
	}
	return nil
}

// Close ends all services and everything that they started, and returns when they are gone.
func (s *Set) Close() {
	s.end()
	for _, r := range s.running {
		<-r.ended
	}
}

// Output is the end of the output of each service.
func (s *Set) Output() (text string) {
	for _, r := range s.running {
		if said := r.said.String(); said != "" {
			text += fmt.Sprintf("--- service %s ---\n%s\n", r.name, said)
		}
	}
	return text
}

func ending(out *sandbox.Output) string {
	switch {
	case out.TimedOut:
		return "it took too long"
	case out.Signal != "":
		return "signal " + out.Signal
	default:
		return fmt.Sprintf("exit code %d", out.ExitCode)
	}
}

// transcript keeps the end of a stream.
type transcript struct {
	mu   sync.Mutex
	data []byte
}

func (t *transcript) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - maxOutput; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
}

// String returns the kept text.
func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
