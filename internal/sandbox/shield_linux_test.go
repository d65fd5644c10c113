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
const reachBack = `tr '\0' '\n' < /proc/$HOST/environ; head -c 1 /proc/$HOST/mem; cat /proc/$HOST/fd/9; cat <&9; true`

// The test runs itself again: the environment that the kernel shows is the one that a process was started with. The weakest rung
// is that on which only the shield is left.
func TestCommandsCannotReachBack(t *testing.T) {
	t.Parallel()
	if os.Getenv("DIVISI_REACH_BACK") != "" {
		shield()
		onRungs(t, func(t *testing.T, p place) {
			t.Helper()
			c := p.shell(reachBack)
			c.Env = append(c.Env, "HOST="+strconv.Itoa(os.Getpid()))
			t.Logf("ran: %s", p.run(t, c).Text())
		})
		return
	}
	secret, write, err := os.Pipe()
	require.NoError(t, err)
	_, err = write.WriteString("planted-in-a-pipe")
	require.NoError(t, err)
	require.NoError(t, write.Close())
	t.Cleanup(func() { _ = secret.Close() })
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
	if os.Getenv("DIVISI_OWN") == "" { // in a process of its own: it cannot be undone
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestOwnEnvironmentIsKept$")
		cmd.Env = append(os.Environ(), "DIVISI_OWN=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	path := os.Getenv("PATH")
	shield()
	require.Equal(t, path, os.Getenv("PATH"))
	require.NotEmpty(t, path)
	require.NotEmpty(t, shownEnviron())
	require.NotContains(t, string(shownEnviron()), path)
}
