package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExitIsData(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out := p.run(t, p.shell("echo out; echo err >&2; exit 7"))
	require.Equal(t, 7, out.ExitCode)
	require.Equal(t, "out\nerr\n", out.Text())
	require.False(t, out.Success())
	require.Positive(t, out.Duration)

	out = p.run(t, p.shell("kill -SEGV $$"))
	require.Equal(t, -1, out.ExitCode)
	require.Equal(t, "segmentation fault", out.Signal)

	require.True(t, p.run(t, p.shell("exit 0")).Success())
}

func TestStdinDirectoryAndEnvironment(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("pwd; cat; echo $HOME; test -z \"$SECRET_OF_PARENT\"")
	c.Stdin = []byte("from stdin\n")
	require.Equal(t, []string{p.tree, "from stdin", p.tree}, lines(p.run(t, c).Text()))
}

func TestUnreadStdinDoesNotHang(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("exit 3")
	c.Stdin = bytes.Repeat([]byte("x"), 1<<20)
	require.Equal(t, 3, p.run(t, c).ExitCode)
}

func TestNotFoundNamesThePath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("")
	c.Args = []string{"no-such-program"}
	_, err := Run(t.Context(), c)
	notFound, ok := errors.AsType[*NotFoundError](err)
	require.True(t, ok)
	require.Equal(t, "no-such-program", notFound.Name)
	require.Contains(t, err.Error(), "not found in PATH "+lookup(p.env, "PATH"))

	c.Args = []string{"./gone.sh"}
	_, err = Run(t.Context(), c)
	require.ErrorContains(t, err, "./gone.sh: no such executable file")
}

func TestProgramsComeFromTheCommandsOwnPath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := filepath.Join(p.tree, "sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho planted\n"), 0o700)) // it has to run
	c := p.shell("echo real")
	c.Env = []string{"PATH=.:" + lookup(p.env, "PATH")}
	require.Equal(t, "real\n", p.run(t, c).Text())
	c.Args = []string{"./sh"}
	require.Equal(t, "planted\n", p.run(t, c).Text())
}

func TestBadCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Command{{}, {Args: []string{"true"}, Dir: "relative"}, {Args: []string{"a\x00b"}, Dir: "/"}} {
		_, err := Run(t.Context(), c)
		require.ErrorIs(t, err, ErrInvalid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, newPlace(t).shell("true"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestTimeoutEndsPolitelyFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`trap 'echo tidied; exit 5' TERM; echo ready; while :; do sleep 0.01; done`)
	c.Timeout = 300 * time.Millisecond
	out := p.run(t, c)
	require.True(t, out.TimedOut)
	require.Equal(t, 5, out.ExitCode)
	require.Contains(t, out.Text(), "tidied")
}

func TestIgnoredSigtermIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`trap '' TERM; while :; do sleep 0.01; done`)
	c.Timeout, c.Grace = 100*time.Millisecond, 100*time.Millisecond
	out := p.run(t, c)
	require.True(t, out.TimedOut)
	require.Equal(t, "killed", out.Signal)
	require.Less(t, out.Duration, 10*time.Second)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := p.shell(`echo ready; sleep 600`)
	c.OnOutput = func([]byte) { cancel() }
	out, err := Run(ctx, c)
	require.NoError(t, err)
	require.True(t, out.Cancelled)
	require.False(t, out.TimedOut)
	require.Equal(t, "terminated", out.Signal)
}

// left runs a script that leaves a process behind, which writes its id to the file "pid", and waits until it is gone.
func left(t *testing.T, script string) *Output {
	t.Helper()
	p := newPlace(t)
	out := p.run(t, p.shell(script))
	data, err := os.ReadFile(filepath.Join(p.tree, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return ended(pid) }, 5*time.Second, time.Millisecond)
	return out
}

// ended is true also for a zombie that its new parent has not collected yet.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestBackgroundProcessIsKilled(t *testing.T) {
	t.Parallel()
	out := left(t, `sleep 600 & echo $! > pid`)
	require.Zero(t, out.ExitCode)
	require.Less(t, out.Duration, drainWait, "a held pipe must not delay the end")
}

func TestGrandchildInItsOwnSessionIsKilled(t *testing.T) {
	t.Parallel()
	out := left(t, `setsid sh -c 'echo $$ > pid.new; mv pid.new pid; trap "" TERM HUP; while :; do sleep 1; done' &
		while [ ! -f pid ]; do sleep 0.01; done`)
	require.Zero(t, out.ExitCode)
}

// A process that hides its environment and leaves its session is found as an orphan.
func TestHiddenProcessIsKilled(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"one": `env -i PATH=$PATH setsid sh -c 'echo $$ > pid.new; mv pid.new pid; sleep 600' &`,
		"below another": `env -i PATH=$PATH setsid sh -c '
			setsid sh -c "echo \$\$ > pid.new; mv pid.new pid; sleep 600" & exec sleep 600' &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := left(t, script+` while [ ! -f pid ]; do sleep 0.01; done`)
			require.Zero(t, out.ExitCode)
			require.Less(t, out.Duration, drainWait, "its end of the pipe is closed too")
		})
	}
}

// Commands that end beside it leave a running command's own orphans alone, and none of them becomes a zombie for ever.
func TestOrphansOfARunningCommandLive(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`(setsid sh -c 'while [ ! -f stop ]; do sleep 0.01; done; echo lived > lived' &)
		echo ready; while [ ! -f lived ]; do sleep 0.01; done`)
	c.Timeout = 20 * time.Second
	c.OnOutput = func([]byte) {
		for range 5 {
			if _, err := Run(t.Context(), newPlace(t).shell("true")); err != nil {
				t.Error(err)
			}
		}
		if err := os.WriteFile(filepath.Join(p.tree, "stop"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	require.Zero(t, p.run(t, c).ExitCode)
}

func TestHeldPipeDoesNotHang(t *testing.T) {
	t.Parallel()
	pipe, held, err := os.Pipe()
	require.NoError(t, err)
	defer held.Close()
	j := &job{pipe: pipe, drained: make(chan struct{})}
	go func() {
		defer close(j.drained)
		_, _ = io.Copy(io.Discard, pipe)
	}()
	begin := time.Now()
	j.drain()
	require.Less(t, time.Since(begin), 2*drainWait)
}

func TestForkingCrowdIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell(`f() { while :; do setsid sh -c 'sleep 600' & sleep 0.02; done; }; f & f & sleep 600`)
	c.Timeout, c.Grace = 400*time.Millisecond, 50*time.Millisecond
	c.Env = append(c.Env, RunVar+"=crowd")
	require.True(t, p.run(t, c).TimedOut)
	require.False(t, killPass([]byte(RunVar+"=crowd"), map[int]struct{}{}), "somebody survived")
}

func TestEndlessOutputIsBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var sink bytes.Buffer
	seen := int64(0)
	c := p.shell("echo first; yes")
	c.Timeout, c.MaxOutput, c.Sink, c.MaxSink = 300*time.Millisecond, 1000, &sink, 5000
	c.OnOutput = func(b []byte) { seen += int64(len(b)) }
	out := p.run(t, c)
	require.True(t, out.TimedOut)
	require.True(t, strings.HasPrefix(string(out.Head), "first\ny\n"))
	require.Len(t, out.Head, 500)
	require.Len(t, out.Tail, 500)
	require.Equal(t, seen, out.Omitted+1000)
	require.Equal(t, 5000, sink.Len())
	require.Equal(t, seen-5000, out.SinkOmitted)
	require.Contains(t, out.Text(), "bytes omitted")
}

type brokenSink struct{}

func (brokenSink) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestBrokenSinkDoesNotStopTheCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("echo one; sleep 0.05; echo two")
	c.Sink = brokenSink{}
	out := p.run(t, c)
	require.ErrorContains(t, out.SinkErr, "disk full")
	require.Equal(t, "one\ntwo\n", out.Text())
	require.Equal(t, int64(8), out.SinkOmitted)
}

func TestSweepKillsWhatARunLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ended := make(chan *Output, 1)
	ready := make(chan struct{})
	c := p.shell("echo ready; exec sleep 600")
	c.Env = append(c.Env, RunVar+"=run-of-sweep-test")
	c.OnOutput = func([]byte) { close(ready) }
	go func() {
		out, err := Run(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	<-ready
	n, err := Sweep("run-of-sweep")
	require.NoError(t, err)
	require.Zero(t, n, "a run whose id begins the same is another one")
	n, err = Sweep("run-of-sweep-test")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "killed", (<-ended).Signal)
	_, err = Sweep("")
	require.ErrorIs(t, err, ErrInvalid)
}

func BenchmarkConfinedTrue(b *testing.B) {
	c := Command{Args: []string{"true"}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Writable: []string{b.TempDir()}}
	for b.Loop() {
		if _, err := Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareTrue(b *testing.B) {
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "true")
		cmd.Env, cmd.Dir = []string{}, "/"
		if _, err := cmd.CombinedOutput(); err != nil {
			b.Fatal(err)
		}
	}
}
