package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reachBack is what a command tries against the process that started it.
const reachBack = `tr '\0' '\n' < /proc/$PPID/environ; head -c 1 /proc/$PPID/mem; cat /proc/$PPID/fd/9; cat <&9; true`

// The test runs itself again: the environment that the kernel shows is the one that a process was started with.
func TestCommandsCannotReachBack(t *testing.T) {
	t.Parallel()
	if os.Getenv("DIVISI_REACH_BACK") != "" {
		p := newPlace(t)
		t.Logf("ran: %s", p.run(t, p.shell(reachBack)).Text())
		return
	}
	secret, write, err := os.Pipe()
	require.NoError(t, err)
	_, err = write.WriteString("planted-in-a-pipe")
	require.NoError(t, err)
	require.NoError(t, write.Close())
	defer secret.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestCommandsCannotReachBack$", "-test.v")
	cmd.Env = append(os.Environ(), "GEMINI_API_KEY=planted-key", "DATABASE_URL=planted-url", "DIVISI_REACH_BACK=1")
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, secret}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "ran: ")
	require.NotContains(t, string(out), "planted")
}

func TestWipe(t *testing.T) {
	t.Parallel()
	environ := []byte("GEMINI_API_KEY=k\x00DIVISI_RUN=r\x00\x00X=y\x00cut")
	wipe(environ)
	require.Equal(t, "DIVISI_RUN=r", strings.ReplaceAll(string(environ), "\x00", ""))
	require.True(t, carries(environ, []byte("DIVISI_RUN=r")))
	wipe(nil)
}

func TestOwnEnvironmentIsKept(t *testing.T) {
	t.Parallel()
	path := os.Getenv("PATH")
	shield()
	require.Equal(t, path, os.Getenv("PATH"))
	require.NotEmpty(t, path)
	require.NotEmpty(t, shownEnviron())
	require.NotContains(t, string(shownEnviron()), path)
}

func TestCommandsHaveFewCapabilities(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out := p.run(t, p.shell(`grep -E '^Cap(Eff|Prm|Inh|Amb)' /proc/self/status`)).Text()
	require.Len(t, lines(out), 4)
	allowed := uint64(0)
	if os.Geteuid() == 0 {
		for _, c := range kept {
			allowed |= 1 << c
		}
	}
	for _, line := range lines(out) {
		_, value, _ := strings.Cut(line, "\t")
		has, err := strconv.ParseUint(value, 16, 64)
		require.NoError(t, err)
		require.Zero(t, has&^allowed, line)
	}
}
