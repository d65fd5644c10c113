package sandbox

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"divisi/internal/testkit/chantest"
)

// leaky is what gets through on the lower rungs, and why: what is not named here is refused there too. On the full rung nothing
// gets through.
var leaky = map[string][]string{
	sharedUser: {},
	oneWorld:   slices.Concat(metadata, []string{"gain rights"}),
	noFilter:   slices.Concat(metadata, []string{"gain rights"}, calls),
}

// metadata is what Landlock does not cover.
var metadata = []string{
	"change mode", "change times", "change attributes", "change owner", "see file", "see command lines",
}

// calls is what only the filter of system calls refuses.
var calls = []string{
	"TCP", "MPTCP", "UDP", "unix socket", "shared memory", "vsock", "kernel events", "other sockets", "nested user", "nested clone3",
	"change limits", "change priority", "renice stage", "renice everybody", "pin stage", "pin stage's thread", "change stage's", "unshare", "keys", "session keys", "io_uring", "bpf", "perf", "userfaultfd", "type for others", "watch file system",
}

// listeners are what an attack tries to reach outside, as variables for it.
func listeners(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // the name of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	abstract := filepath.Base(dir) + "-abstract"
	vars := []string{"SOCKET=" + filepath.Join(dir, "s"), "ABSTRACT=" + abstract}
	for name, address := range map[string][2]string{
		"TCP": {"tcp4", "127.0.0.1:0"}, "": {"unix", filepath.Join(dir, "s")}, "-": {"unix", "@" + abstract},
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), address[0], address[1])
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		vars = append(vars, name+"="+l.Addr().String())
	}
	packets, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buffer := make([]byte, 16); ; {
			_, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte("in"), from)
		}
	}()
	t.Cleanup(func() { _ = packets.Close(); chantest.Next(t, done) })
	return append(vars, "UDP="+packets.LocalAddr().String(), fmt.Sprintf("SHARED=%d", shareMemory(t)))
}

// shareMemory returns the key of memory that this user's processes share.
func shareMemory(t *testing.T) int {
	t.Helper()
	key := 1 + rand.IntN(1<<30)
	id, err := unix.SysvShmGet(key, os.Getpagesize(), unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); require.NoError(t, err) })
	return key
}

// ownProgram is a copy of the test program at a place that everybody can reach.
func ownProgram(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "attacker")
	require.NoError(t, os.WriteFile(program, text, 0o700)) // it has to run
	return program
}

// attacker is a command that carries out what it is told.
func attacker(t *testing.T, p place, what string, env ...string) Command {
	t.Helper()
	program := ownProgram(t)
	return Command{
		Args: []string{program}, Dir: p.tree, Place: Place{Tree: p.tree, Home: t.TempDir(), Temp: t.TempDir()},
		Readable: []string{program}, Env: slices.Concat(p.env, env, []string{
			attackVar + "=" + what, "OUT=" + p.outside, fmt.Sprintf("HOST=%d", os.Getpid()),
		}),
	}
}

// attack runs every attack inside, and returns those that got through.
func attack(t *testing.T, p place) []string {
	t.Helper()
	for _, name := range []string{"victim", "secret", "spare"} {
		require.NoError(t, os.WriteFile(filepath.Join(p.outside, name), []byte("planted-in-a-file"), 0o600))
	}
	out := p.run(t, attacker(t, p, "all", listeners(t)...))
	require.Zero(t, out.ExitCode, out.Text())
	t.Log(out.Text())
	var leaks []string
	tried := 0
	for _, line := range lines(out.Text()) {
		tried++
		if name, leak := strings.CutPrefix(line, "LEAK "); leak {
			leaks = append(leaks, name)
		}
	}
	require.Len(t, attacks, tried)
	return leaks
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		for _, leak := range attack(t, p) {
			require.Contains(t, leaky[filepath.Base(strings.ReplaceAll(t.Name(), "_", " "))], leak)
		}
		victim := filepath.Join(p.outside, "victim")
		text, err := os.ReadFile(victim)
		require.NoError(t, err)
		require.Equal(t, "planted-in-a-file", string(text))
		entries, err := os.ReadDir(p.outside)
		require.NoError(t, err)
		require.Len(t, entries, 3)
		if p.level.Strict() != nil {
			return
		}
		var stat unix.Stat_t
		require.NoError(t, unix.Stat(victim, &stat))
		require.EqualValues(t, 0o600, stat.Mode&0o7777)
		require.NotZero(t, stat.Mtim.Sec)
	}, full, sharedUser, oneWorld, noFilter)
}

// A command traces its own children where Landlock keeps it from others in namespaces of its own, or there is no filter.
func TestACommandTracesItsChildren(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, attacker(t, p, "child"))
		if p.level.have(Seccomp) && (!p.level.have(Namespaces) || !p.level.have(Landlock)) {
			require.Equal(t, 1, out.ExitCode, out.Text())
			require.Contains(t, out.Text(), "operation not permitted")
			return
		}
		require.Zero(t, out.ExitCode, out.Text())
	}, full, sharedUser, oneWorld, noFilter)
}

// A command that asks its parent to trace it is none that has ended.
func TestACommandThatAsksToBeTracedGoesOn(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, attacker(t, p, "traced"))
		require.Zero(t, out.ExitCode, out.Text())
		require.Contains(t, out.Text(), "went on")
	}, full, sharedUser, oneWorld, noFilter)
}

// Without confinement the attacks succeed: else the test above would prove nothing.
func TestAttacksWorkUnconfined(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		leaks := attack(t, p)
		for _, name := range []string{
			"write", "write by symlink", "write by hard link", "write by proc root", "read secret", "list", "change mode",
			"unix socket", "abstract socket", "TCP", "MPTCP", "UDP", "see command lines", "signal", "signal stage", "keys",
			"shared memory", "change stage's",
		} {
			require.Contains(t, leaks, name)
		}
	}, nothing)
}
