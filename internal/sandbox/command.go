package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
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
	// Dir is the absolute working directory. It is writable only when Writable says so.
	Dir string
	// Env is the whole environment, as Env builds it; nothing is inherited.
	Env   []string
	Stdin []byte
	// Writable are the existing files and directories below which the command may write. None may be a symbolic link or
	// lie where a confined command could replace it.
	Writable []string
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
}

// ErrInvalid says that a Command cannot be run as it stands: a programmer's or a configuration's mistake.
var ErrInvalid = errors.New("invalid command")

// NotFoundError says that a program does not exist or is not executable. Path is the PATH that was searched; it is empty
// when Name held a slash.
type NotFoundError struct {
	Name string
	Path string
}

// Error names the program and where it was looked for.
func (e *NotFoundError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: no such executable file", e.Name)
	}
	return fmt.Sprintf("%s: not found in PATH %s", e.Name, e.Path)
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
	for _, path := range c.Writable {
		if !filepath.IsAbs(path) {
			errs = append(errs, fmt.Errorf("%w: writable path %q is not absolute", ErrInvalid, path))
		}
	}
	for _, text := range append(append([]string{}, c.Args...), c.Env...) {
		if strings.ContainsRune(text, 0) {
			errs = append(errs, fmt.Errorf("%w: %q holds a zero byte", ErrInvalid, text))
		}
	}
	return errors.Join(errs...)
}

// program resolves Args[0] against the command's own PATH and directory, never against this process's. Relative entries of
// PATH are skipped: they would run programs out of a tree that agents write.
func (c Command) program() (string, error) {
	name := c.Args[0]
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		if !executable(path) {
			return "", &NotFoundError{Name: name}
		}
		return path, nil
	}
	search := lookup(c.Env, "PATH")
	for _, dir := range filepath.SplitList(search) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path, nil
		}
	}
	if search == "" {
		search = "(empty)"
	}
	return "", &NotFoundError{Name: name, Path: search}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// lookup returns the last value of a name, as exec would, or "".
func lookup(env []string, name string) string {
	value, _ := find(env, name)
	return value
}
