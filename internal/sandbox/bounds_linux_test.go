package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two commands at once: each has its own bound.
func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				c := p.shell(`i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i + 1)); echo $i; done`)
				c.MaxProcesses = 40
				out, err := p.level.run(t.Context(), c)
				if err != nil || out.Success() {
					t.Error(err, out)
				}
				require.Contains(t, out.Text(), "\n30\n", "what the other has does not count")
				require.NotContains(t, out.Text(), "\n50\n")
				require.Contains(t, out.Text(), "ork", "the shell must be told that it cannot fork")
			})
		}
		group.Wait()
	}, full)
}

// What uses too much memory is killed, wherever it keeps it, and its neighbours are not.
func TestSlowMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const most = 200 << 20
	for name, script := range map[string]string{
		"one process":         `python3 -c 'x = b"x" * (400 << 20); print("had it", flush=True); input()' < q`,
		"many processes":      `for i in 1 2 3 4 5 6 7 8; do python3 -c 'x = b"x" * (50 << 20); input()' < q & done; wait; echo had it`,
		"shared memory":       `python3 -c 'import mmap; m = mmap.mmap(-1, 400 << 20); m.write(b"x" * (400 << 20)); input()' < q`,
		"files in memory":     `head -c 400M /dev/zero > /dev/shm/x; sleep 600`,
		"a session by itself": `setsid python3 -c 'x = b"x" * (400 << 20); input()' < q & sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onRungs(t, func(t *testing.T, p place) {
				t.Helper()
				if name == "files in memory" && !p.level.have(Namespaces) {
					t.Skip("there is nowhere to write")
				}
				c := p.shell("mkfifo q; exec 8<>q; " + script)
				c.MaxMemory = most
				out := p.run(t, c)
				require.True(t, out.OutOfMemory, out.Text())
				require.Equal(t, "killed", out.Signal)
				require.False(t, out.TimedOut)
				require.False(t, out.Success())
			}, full, oneWorld)
		})
	}
	p := newPlace(t)
	c := p.shell(`python3 -c 'x = b"x" * (100 << 20); import os; [os.fork() for _ in range(3)]; import time; time.sleep(0.6)'`)
	c.MaxMemory = most
	out := p.run(t, c)
	require.True(t, out.Success(), "memory that processes share counts once: %s", out.Text())
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell(`truncate -s 100G big; ulimit -c; ulimit -n`))
		require.Contains(t, out.Text(), "File size limit exceeded")
		require.Equal(t, "0", lines(out.Text())[len(lines(out.Text()))-2])
		_, err := os.Stat(filepath.Join(p.tree, "core"))
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// What nothing waits for takes no processor from what else runs, also where the kernel shares them among sessions first.
func TestAnIdleCommandGoesLast(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`nice; f=/proc/self/autogroup; [ ! -e $f ] || until grep -q 'nice 19' $f; do sleep 0.01; done`)
		c.Timeout = time.Minute
		c.Idle = true
		out := p.run(t, c)
		require.True(t, out.Success())
		require.Equal(t, "19\n", out.Text())
	}, full)
}

// A file that is empty costs the kernel memory all the same, which is in no bound of a command.
func TestFilesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		if !p.level.have(Namespaces) {
			t.Skip("there is nowhere to write")
		}
		out := p.run(t, p.shell("stat -f -c %c /tmp /dev/shm"))
		require.Equal(t, "262144\n262144\n", out.Text())
	}, full)
}

// What the owner of a machine grants bounds a command that says nothing itself.
func TestTheOwnerOfTheMachineBoundsCommands(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		c := p.shell(`head -c 3M /dev/zero > large; wc -c < large; i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i + 1)); echo p$i; done`)
		c.Place.Owner = Owner{MaxProcesses: 40, MaxFile: 1 << 20}
		out, err := p.level.run(t.Context(), c)
		require.NoError(t, err)
		require.False(t, out.Success())
		require.Contains(t, out.Text(), "1048576")
		require.NotContains(t, out.Text(), "3145728")
		require.Contains(t, out.Text(), "p30")
		require.NotContains(t, out.Text(), "p50")
	}, full)
}
