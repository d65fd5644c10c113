package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox/stage"
	"divisi/internal/testkit/chantest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestExitIsData(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell("echo out; echo err >&2; exit 7"))
		require.Equal(t, 7, out.ExitCode)
		require.Equal(t, "out\nerr\n", out.Text())
		require.False(t, out.Success())
		require.Positive(t, out.Duration)

		out = p.run(t, p.shell("kill -SEGV $$"))
		require.Equal(t, -1, out.ExitCode)
		require.Equal(t, "segmentation fault", out.Signal)

		require.True(t, p.run(t, p.shell("exit 0")).Success())
	})
}

func TestStdinDirectoryAndEnvironment(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell("pwd; cat; echo $HOME; test -z \"$SECRET_OF_PARENT\"")
		c.Stdin = []byte("from stdin\n")
		require.Equal(t, []string{p.tree, "from stdin", p.tree}, lines(p.run(t, c).Text()))
	})
}

// Names of files, and so arguments, need not be text.
func TestAnyBytesArePassedOn(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		name := "caf\xe9 \xff\n\x01"
		require.NoError(t, os.Mkdir(filepath.Join(p.tree, name), 0o700))
		c := p.shell(`printf %s "$1" "$NAME"; touch here`)
		c.Args, c.Env, c.Dir = append(c.Args, "sh", name), append(c.Env, "NAME="+name), filepath.Join(p.tree, name)
		require.Equal(t, name+name, p.run(t, c).Text())
		require.FileExists(t, filepath.Join(p.tree, name, "here"))
	})
}

func TestUnreadStdinDoesNotHang(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell("exit 3")
		c.Stdin = bytes.Repeat([]byte("x"), 1<<20)
		require.Equal(t, 3, p.run(t, c).ExitCode)
	})
}

func TestNotFoundNamesThePath(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell("")
		c.Args = []string{"no-such-program"}
		_, err := p.level.run(t.Context(), c)
		notFound, ok := errors.AsType[*NotFoundError](err)
		require.True(t, ok)
		require.Equal(t, "no-such-program", notFound.Name)
		require.Contains(t, err.Error(), "not found on PATH")
		require.NotContains(t, err.Error(), stage.Lookup(p.env, "PATH"))

		c.Args = []string{"./gone.sh"}
		_, err = p.level.run(t.Context(), c)
		require.ErrorContains(t, err, "./gone.sh: no such executable file")

		require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "odd.sh"), []byte("#!/no/such/interpreter\n"), 0o755))
		c.Args = []string{"./odd.sh"}
		_, err = p.level.run(t.Context(), c)
		require.ErrorAs(t, err, new(*NotFoundError), "a script without its interpreter")
	})
}

func TestProgramsComeFromTheCommandsOwnPath(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		script := filepath.Join(p.tree, "sh")
		require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho planted\n"), 0o700)) // it has to run
		c := p.shell("echo real")
		c.Env = []string{"PATH=.:" + stage.Lookup(p.env, "PATH")}
		require.Equal(t, "real\n", p.run(t, c).Text())
		c.Args = []string{"./sh"}
		require.Equal(t, "planted\n", p.run(t, c).Text())
	})
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

func TestSlowTimeoutEndsPolitelyFirst(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`trap 'echo tidied; exit 5' TERM; echo ready; while :; do sleep 0.01; done`)
		c.Timeout = 2 * time.Second
		out := p.run(t, c)
		require.True(t, out.TimedOut)
		require.Equal(t, 5, out.ExitCode)
		require.Contains(t, out.Text(), "tidied")
	})
}

func TestIgnoredSigtermIsKilled(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := p.shell(`trap '' TERM; echo ready; while :; do sleep 0.01; done`)
		c.Grace, c.OnOutput = 100*time.Millisecond, func([]byte) { cancel() } // not before the signal is ignored
		out, err := p.level.run(ctx, c)
		require.NoError(t, err)
		require.Equal(t, "killed", out.Signal)
		require.Less(t, out.Duration, time.Minute)
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := p.shell(`echo ready; sleep 600`)
		c.OnOutput = func([]byte) { cancel() }
		out, err := p.level.run(ctx, c)
		require.NoError(t, err)
		require.True(t, out.Cancelled)
		require.False(t, out.TimedOut)
		require.Equal(t, "terminated", out.Signal)
	})
}

// A command can be ended at any moment, also while its world is still being made.
func TestSlowCancelAtAnyMoment(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		for after := time.Duration(0); after < 20*time.Millisecond; after += time.Millisecond {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			c := p.shell(holdLock + "sleep 600")
			c.Grace = time.Millisecond
			out, err := p.level.run(ctx, c)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded, "it was over before")
				continue
			}
			require.True(t, out.Cancelled)
			require.Contains(t, []string{"killed", "terminated"}, out.Signal)
		}
		require.NoError(t, os.WriteFile(filepath.Join(p.tree, "lock"), nil, 0o600))
		nobodyHolds(t, p.tree)
	})
}

// holdLock makes a script, and every process that it starts, hold the lock of the file "lock" for as long as they live.
const holdLock = "exec 9> lock; flock 9; "

// nobodyHolds fails when any process still has the lock.
func nobodyHolds(t *testing.T, tree string) {
	t.Helper()
	lock, err := os.Open(filepath.Join(tree, "lock"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB), "a process survived")
}

// What a command can leave behind; each says with the file "ready" that it is there.
var survivors = map[string]string{
	"in the background":  `(echo > ready; exec sleep 600) &`,
	"in its own session": `setsid sh -c 'echo > ready; exec sleep 600' &`,
	"ignoring signals":   `setsid sh -c 'trap "" TERM HUP INT; echo > ready; while :; do sleep 1; done' &`,
	"without a mark":     `env -i PATH=$PATH setsid sh -c 'echo > ready; exec sleep 600' &`,
	"below another": `env -i PATH=$PATH setsid sh -c '
		setsid sh -c "echo > ready; exec sleep 600" & exec sleep 600' &`,
	"an orphan": `(setsid sh -c '(setsid sh -c "echo > ready; exec sleep 600" &)' &)`,
	"a fork chain": `cat > chain <<'.'
		[ $1 -gt 50 ] && echo > ready
		setsid sh ./chain $(($1 + 1)) &
.
		setsid sh ./chain 0 &`,
}

const untilReady = "\nwhile [ ! -f ready ]; do sleep 0.01; done"

func TestSlowNothingSurvives(t *testing.T) {
	t.Parallel()
	for name, script := range survivors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRungs(t, func(t *testing.T, p place) {
				t.Helper()
				out := p.run(t, p.shell(holdLock+script+untilReady))
				require.Zero(t, out.ExitCode, out.Text())
				nobodyHolds(t, p.tree)
				require.Less(t, out.Duration, time.Minute, "a held pipe must not delay the end")

				require.NoError(t, os.Remove(filepath.Join(p.tree, "ready")))
				c := p.shell(holdLock + script + untilReady + "; echo there; trap '' TERM; while :; do sleep 1; done")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c.Grace, c.OnOutput = 20*time.Millisecond, func([]byte) { cancel() }
				out, err := p.level.run(ctx, c)
				require.NoError(t, err)
				require.True(t, out.Cancelled)
				nobodyHolds(t, p.tree)
			})
		})
	}
}

// A process of its own runs the command, and is killed without a word.
func TestNothingSurvivesTheParent(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		script := holdLock + survivors["ignoring signals"] + survivors["an orphan"] + untilReady + "; echo there; exec sleep 600"
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
		cmd.Env = append(os.Environ(), attackVar+"=parent", "RUNG="+filepath.Base(t.Name()), "TREE="+p.tree, "SCRIPT="+script)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		there, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "there\n", there)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		lock, err := os.Open(filepath.Join(p.tree, "lock"))
		require.NoError(t, err)
		defer lock.Close()
		require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX), "it is free when the last one has died")
	})
}

// beParent is the process that TestNothingSurvivesTheParent kills.
func beParent() int {
	rung, tree := strings.ReplaceAll(os.Getenv("RUNG"), "_", " "), os.Getenv("TREE")
	p := place{level: rungs()[rung], tree: tree, env: []string{"PATH=" + os.Getenv("PATH")}}
	c := p.shell(os.Getenv("SCRIPT"))
	c.OnOutput = func(b []byte) { fmt.Print(string(b)) } //nolint:forbidigo // its parent reads it
	if scratch := os.Getenv("KEPT"); scratch != "" {
		c.Place = Place{Tree: tree, Layers: []Layer{{Path: "node_modules", Lower: scratch}}}
		k, err := p.level.keeper(context.Background(), KeeperConfig{Place: c.Place, Scratch: scratch})
		if err != nil {
			fmt.Println(err) //nolint:forbidigo // as above
			return 1
		}
		c.Place.Keeper = k
		ahead := &Ahead{}
		ahead.start(p.level, k)
		fmt.Printf("%d\n%d\n", k.process.Pid, ahead.ready.stage.Pid) //nolint:forbidigo // as above
	}
	out, err := p.level.run(context.Background(), c)
	fmt.Println(err, out) //nolint:forbidigo // as above
	return 1
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
	require.Less(t, time.Since(begin), time.Minute)
}

func TestForkingCrowdIsKilled(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`f() { while :; do setsid sh -c 'sleep 600' & sleep 0.02; done; }; f & f & sleep 600`)
		c.Timeout, c.Grace = 400*time.Millisecond, 50*time.Millisecond
		c.Env = append(c.Env, RunVar+"="+t.Name())
		require.True(t, p.run(t, c).TimedOut)
		require.False(t, killPass([]string{RunVar + "=" + t.Name()}, map[int]struct{}{}), "a process survived")
	})
}

func TestEndlessOutputIsBounded(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		var sink bytes.Buffer
		seen := int64(0)
		c := p.shell("echo first; yes | head -c 2000000; sleep 600")
		c.Timeout, c.MaxOutput, c.Sink, c.MaxSink = 5*time.Second, 1000, &sink, 5000
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
	})
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

// With namespaces nothing is ever left.
func TestSweepKillsWhatARunLeft(t *testing.T) {
	t.Parallel()
	_, err := Sweep("", "w1")
	require.ErrorIs(t, err, ErrInvalid)
	_, err = Sweep(t.Name(), "")
	require.ErrorIs(t, err, ErrInvalid)
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		ended := make(chan *Output, 1)
		ready := make(chan struct{})
		c := p.shell("mkfifo q; echo ready; read x < q")
		c.Env = append(c.Env, RunVar+"="+t.Name(), WorkerVar+"=w1")
		c.OnOutput = func([]byte) { close(ready) }
		go func() {
			out, err := p.level.run(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			ended <- out
		}()
		chantest.Next(t, ready)
		n, err := Sweep(t.Name()[:len(t.Name())-1], "w1")
		require.NoError(t, err)
		require.Zero(t, n, "a run whose id begins the same is another one")
		n, err = Sweep(t.Name(), "w2")
		require.NoError(t, err)
		require.Zero(t, n, "another worker of the run may be at work on this machine")
		n, err = Sweep(t.Name(), "w1")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, "killed", chantest.Next(t, ended).Signal)
	}, oneWorld, nothing)
}
