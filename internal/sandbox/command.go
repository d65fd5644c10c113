package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox/stage"
)

// The defaults of a Command.
const (
	DefaultTimeout   = 10 * time.Minute
	DefaultGrace     = 2 * time.Second
	DefaultMaxOutput = 64 << 10
	DefaultMaxSink   = 64 << 20
)

// Command is one program to run confined. Zero values mean the defaults above.
type Command struct {
	// Args are the program and its arguments; a name without a slash is looked up in the PATH of Env.
	Args []string
	// Dir is the absolute working directory, a path of the machine like all paths here. The command can read it, and write it
	// when Place or Writable say so.
	Dir string
	// Place is shown to the command where Place.Seen says; everything else is where it is on the machine.
	Place Place
	// Env is the whole environment, as Env builds it; nothing is inherited.
	Env   []string
	Stdin []byte
	// Writable are the existing files and directories below which the command may write. None may be a symbolic link or
	// lie where a confined command could replace it.
	Writable []string
	// Readable are further files and directories that the command may read, beside the system's and the toolchains'. What does
	// not exist is left out.
	Readable []string
	// Network lets the command reach the network through a proxy of Divisi, where the machine has namespaces, else as the machine
	// does. Without it there is a loopback of its own where the machine has namespaces, else nothing.
	Network bool
	// Loopback lets that proxy connect to addresses of this machine too.
	Loopback bool
	// Hosts, where there are any, are the only ones that the proxy connects to. A machine without namespaces, which has no proxy,
	// refuses such a command.
	Hosts []string
	// Own is the command's own service of Divisi.
	Own Own
	// MaxMemory bounds, in bytes, what all processes of the command use together; see Output.OutOfMemory. Zero means half of the
	// machine's memory, a negative number no bound.
	MaxMemory int64
	// MaxProcesses bounds processes and threads, where the command has a user namespace and is not root's. Zero means so many
	// that only a runaway has more.
	MaxProcesses int
	// More reports whether another command of the same place follows: Place.Ahead, where there is one, starts its stage.
	More bool
	// Idle lets everything else that the machine does go first.
	Idle bool
	// Timeout ends the command with SIGTERM; Grace later it is killed.
	Timeout time.Duration
	Grace   time.Duration
	// MaxOutput bounds, in bytes, what Output keeps: half from the head, half from the tail.
	MaxOutput int
	// OnOutput is given each chunk of the combined output in order, from one goroutine. The slice is valid during the call
	// only; a slow receiver slows the command down. Its last call happens before Run returns.
	OnOutput func([]byte)
	// Sink receives the combined output up to MaxSink bytes, under the same rules as OnOutput. A failing sink does not
	// stop the command: see Output.SinkErr.
	Sink    io.Writer
	MaxSink int64
	// DropErrors leaves what the command writes to its standard error out of all of the above.
	DropErrors bool
}

// ErrInvalid reports that a Command cannot be run as it stands: a programmer's or a configuration's mistake.
var ErrInvalid = errors.New("invalid command")

// NotFoundError reports that a program does not exist or is not executable. Path is the PATH that was searched; it is empty
// when Name held a slash. The message leaves it out: it is long, and the same for all commands.
type NotFoundError struct {
	Name string
	Path string
}

// Error names the program and where it was looked for.
func (e *NotFoundError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: no such executable file, or interpreter of it", e.Name)
	}
	return e.Name + ": not found on PATH"
}

func (c Command) withDefaults() Command {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	if c.MaxSink <= 0 {
		c.MaxSink = DefaultMaxSink
	}
	if c.OnOutput == nil {
		c.OnOutput = func([]byte) {}
	}
	return c
}

func (c Command) validate() error {
	var errs []error
	if len(c.Args) == 0 || c.Args[0] == "" {
		errs = append(errs, fmt.Errorf("%w: no program", ErrInvalid))
	}
	if !filepath.IsAbs(c.Dir) {
		errs = append(errs, fmt.Errorf("%w: working directory %q is not absolute", ErrInvalid, c.Dir))
	}
	for _, path := range slices.Concat(c.Writable, c.Readable, c.Place.dirs()) {
		if !filepath.IsAbs(path) {
			errs = append(errs, fmt.Errorf("%w: path %q is not absolute", ErrInvalid, path))
		}
	}
	for _, text := range append(append([]string{}, c.Args...), c.Env...) {
		if strings.ContainsRune(text, 0) {
			errs = append(errs, fmt.Errorf("%w: %q holds a zero byte", ErrInvalid, text))
		}
	}
	return errors.Join(errs...)
}

// missing is the error of a program that does not exist.
func (c Command) missing() error {
	if strings.ContainsRune(c.Args[0], '/') {
		return &NotFoundError{Name: c.Args[0]}
	}
	search := stage.Lookup(c.Env, "PATH")
	if search == "" {
		search = "(empty)"
	}
	return &NotFoundError{Name: c.Args[0], Path: search}
}

// environment is the command's with what this package adds, the last value of each name.
func (c Command) environment(seen Place, extra ...string) []string {
	env := append(append([]string{}, c.Env...), append(extra, "PWD="+c.Place.path(c.Dir, seen))...)
	last := map[string]int{}
	for i, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = i
	}
	kept := env[:0]
	for i, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); last[name] == i {
			kept = append(kept, entry)
		}
	}
	return kept
}
