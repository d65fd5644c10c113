package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"divisi/internal/spec"
)

const (
	// maxOutput bounds what one call may print, in bytes.
	maxOutput = 512 << 20
	// maxStderr bounds what is kept of a call's complaints, in bytes.
	maxStderr = 16 << 10
	// waitDelay is how long a killed git may keep its pipes open.
	waitDelay = 2 * time.Second
)

// ErrTooLarge reports that something was bigger than its bound.
var ErrTooLarge = errors.New("too large")

// Dir names the repository of a call; git never looks for one itself.
type Dir struct {
	// GitDir is the repository's own directory: required, absolute.
	GitDir string
	// WorkTree is the top of the work tree; empty for calls that need none.
	WorkTree string
	// Index is the index file; empty means GitDir/index.
	Index string
	// Packed has files become one pack that are taken into the index: creating a file for each would take longer.
	Packed bool
}

// ExitError is a git that ran and failed.
type ExitError struct {
	// Args are the subcommand and its arguments.
	Args []string
	// Code is the exit code; -1 when it was killed.
	Code int
	// Stderr is the beginning of what it complained.
	Stderr string
}

// Error names the subcommand, the exit code and git's own words.
func (e *ExitError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", e.Args[0], e.Code, strings.TrimSpace(e.Stderr))
}

// Unwrap returns the machine's error that git met, such as syscall.ENOSPC, and nil where it complained of its input. Git names it
// by its text alone, which the fixed locale makes dependable: at the end of a line, after what git was doing. A path in a message
// is in quotation marks or is followed by the error.
func (e *ExitError) Unwrap() error {
	for line := range strings.Lines(strings.ToLower(e.Stderr)) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if kind != "fatal" && kind != "error" {
			continue
		}
		for _, errno := range machineErrors {
			if strings.HasSuffix(text, ": "+errno.Error()) {
				return errno
			}
		}
		switch {
		case strings.HasPrefix(text, "out of memory"):
			return syscall.ENOMEM
		case strings.HasSuffix(text, "write error. out of diskspace"):
			return syscall.ENOSPC
		}
	}
	return nil
}

// machineErrors are those that a full, failing or overloaded machine returns.
var machineErrors = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.EROFS, syscall.EAGAIN,
}

// call is one git process.
type call struct {
	dir Dir
	// config are further settings, "key=value".
	config []string
	// env is added to the clean environment; whole replaces it. own has the settings and credentials of the user of this process.
	env   []string
	whole []string
	own   bool
	stdin io.Reader
	// stdout takes the output instead of the returned bytes.
	stdout io.Writer
	// limit bounds the returned bytes; zero means maxOutput.
	limit int
	args  []string
}

// Run runs one git subcommand on an explicit repository and returns what it printed. A failing git is an *ExitError.
// When ctx ends, git and everything that it started is killed.
func (g *Git) Run(ctx context.Context, d Dir, stdin io.Reader, args ...string) ([]byte, error) {
	return g.exec(ctx, call{dir: d, stdin: stdin, args: args})
}

// Command is the command line and the whole environment of a subcommand, to be run elsewhere. The paths of d are those there.
func (g *Git) Command(d Dir, args ...string) (line, env []string, err error) {
	cmd, _, err := g.command(context.Background(), call{dir: d, args: args})
	if err != nil {
		return nil, nil, err
	}
	return append([]string{g.path}, cmd.Args[1:]...), cmd.Env, nil
}

// exec runs a call to its end. Output beyond the limit is ErrTooLarge, with the output up to the limit.
func (g *Git) exec(ctx context.Context, c call) ([]byte, error) {
	defer g.spent.Since(time.Now())
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &capture{limit: c.limit, full: cancel}
	if out.limit == 0 {
		out.limit = maxOutput
	}
	cmd, stderr, err := g.command(inner, c)
	if err != nil {
		return nil, err
	}
	if cmd.Stdout = io.Writer(out); c.stdout != nil {
		cmd.Stdout, cmd.WaitDelay = c.stdout, 0 // what reads it may be slower than git
	}
	err = cmd.Run()
	if out.cut {
		return out.Bytes(), fmt.Errorf("output of git %s: %w", c.args[0], ErrTooLarge)
	}
	if err = callError(ctx, c, stderr, err); err != nil {
		return out.Bytes(), err
	}
	return out.Bytes(), nil
}

// command builds the process of a call.
func (g *Git) command(ctx context.Context, c call) (*exec.Cmd, *capture, error) {
	if c.dir.GitDir == "" || len(c.args) == 0 {
		return nil, nil, errors.New("git was called without a repository or a subcommand")
	}
	args := slices.Clone(flags)
	if c.own {
		args = slices.Clone(ownFlags)
	}
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	if c.dir.Packed {
		args = append(args, "-c", "core.bigFileThreshold=1")
	}
	cmd := exec.CommandContext(ctx, g.path, append(args, c.args...)...)
	cmd.Env = append(slices.Clone(g.env), c.env...)
	if c.whole != nil {
		cmd.Env = slices.Clone(c.whole)
	}
	if c.own {
		cmd.Env = append(ownEnv(os.Environ()), c.env...)
	}
	cmd.Env = append(cmd.Env, "GIT_DIR="+c.dir.GitDir)
	cmd.Dir = "/"
	if c.dir.GitDir != nowhere {
		cmd.Dir = c.dir.GitDir
	}
	if c.dir.WorkTree != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+c.dir.WorkTree)
		cmd.Dir = c.dir.WorkTree
	}
	if c.dir.Index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.dir.Index)
	}
	stderr := &capture{limit: maxStderr, full: func() {}}
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = c.stdin, stderr, waitDelay
	ownGroup(cmd)
	return cmd, stderr, nil
}

// callError turns the end of a process into this package's errors.
func callError(ctx context.Context, c call, stderr *capture, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &ExitError{Args: slices.Clone(c.args), Code: exit.ExitCode(), Stderr: string(stderr.Bytes())}
	}
	return fmt.Errorf("run git %s: %w", c.args[0], err)
}

// capture keeps the first bytes that are written to it. When there are more it calls full and drops the rest.
type capture struct {
	buf   bytes.Buffer
	limit int
	cut   bool
	full  func()
}

// Write never fails, so that the writing process is not upset by the bound.
func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - c.buf.Len()
	if len(p) <= room {
		return c.buf.Write(p)
	}
	c.buf.Write(p[:room])
	if !c.cut {
		c.cut = true
		c.full()
	}
	return len(p), nil
}

// ReadFrom is called by os/exec, which would make a buffer for each call.
func (c *capture) ReadFrom(r io.Reader) (int64, error) {
	buffer, _ := buffers.Get().(*[32 << 10]byte) // it holds nothing else
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, buffer[:])
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Bytes returns what was kept.
func (c *capture) Bytes() []byte { return c.buf.Bytes() }

// exitCode returns the exit code of a failed git, or -1 for any other error.
func exitCode(err error) int {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return -1
}

// nowhere is a path that does not exist: it stands for "no repository", "no home" and "no settings".
const nowhere = "/nonexistent"

// flags come before every subcommand. They switch off what a repository could make git run or fetch, and fix what would
// otherwise depend on the machine.
var ownFlags = strings.Fields(`--no-pager -c core.hooksPath=/dev/null -c gc.auto=0 -c maintenance.auto=false
	-c submodule.recurse=false`)

// ownEnv is the environment of this process without what names a repository. Nothing is asked for on its terminal.
func ownEnv(environ []string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(spec.RepositoryVars, name)
	})
	return append(environ, "GIT_TERMINAL_PROMPT=0")
}

var flags = strings.Fields(`--no-pager --literal-pathspecs
	-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false
	-c core.logAllRefUpdates=false -c core.symlinks=true -c core.protectHFS=true -c core.protectNTFS=true
	-c core.quotePath=false -c submodule.recurse=false -c diff.ignoreSubmodules=all -c diff.renames=true
	-c safe.bareRepository=explicit -c protocol.allow=never -c gc.auto=0 -c maintenance.auto=false
	-c commit.gpgsign=false -c log.showSignature=false -c credential.helper=`)

// cleanEnv is the whole environment of every git process but for the variables that name its repository.
func cleanEnv(path string) []string {
	return []string{
		"PATH=" + path, "LC_ALL=C", "TZ=UTC",
		"HOME=" + nowhere, "XDG_CONFIG_HOME=" + nowhere,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false",
		"GIT_EDITOR=/bin/false", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_ALLOW_PROTOCOL=",
	}
}

// userEnv lists the variables with which git finds the user's global settings, in files and in numbered variables, and no others.
// What -c gave to a git that started this process is of that git alone.
func userEnv(environ []string) []string {
	names := []string{
		"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT",
	}
	var env []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		numbered := strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
		if numbered || slices.Contains(names, name) {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C")
}
