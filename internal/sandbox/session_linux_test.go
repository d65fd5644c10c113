package sandbox

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"divisi/internal/testkit/chantest"
)

// open starts a session of a shell script; it is closed when the test ends.
func (p place) open(t *testing.T, script string) *Session {
	t.Helper()
	s, err := Start(t.Context(), p.shell(script))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestASessionIsSpokenTo(t *testing.T) {
	t.Parallel()
	s := newPlace(t).open(t, `echo "ready in $PWD" >&2; while read line; do echo "you said $line"; done; echo "no more" >&2`)
	answers := bufio.NewReader(s)
	for _, word := range []string{"one", "two"} {
		_, err := io.WriteString(s, word+"\n")
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "you said "+word+"\n", answer)
	}
	begin := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(begin), time.Minute, "it ended when its input did")
	require.Regexp(t, "(?s)^ready in /.*no more\n$", s.Tail())
	_, err := s.Write([]byte("x"))
	require.Error(t, err)
}

func TestASessionIsConfined(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if !Probe().Confined() {
		t.Skip("this machine does not confine")
	}
	c := p.shell(`echo x >` + filepath.Join(p.outside, "f") + `; echo x >inside; echo "$?"; env`)
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	out, err := io.ReadAll(s)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoFileExists(t, filepath.Join(p.outside, "f"))
	require.FileExists(t, filepath.Join(p.tree, "inside"))
	require.True(t, strings.HasPrefix(string(out), "0\n"), string(out))
	require.NotEmpty(t, s.Tail(), "the write failed")
	for _, name := range []string{"TERM=dumb", "HOME=" + p.tree} {
		require.Contains(t, string(out), name)
	}
}

func TestASessionEndsWithEverythingThatItStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.open(t, `trap "" TERM
		setsid flock a sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' & flock b sh -c 'echo up; sleep 1000' & wait`)
	answers := bufio.NewReader(s)
	for range 2 {
		_, err := answers.ReadString('\n')
		require.NoError(t, err)
	}
	s.grace = 50 * time.Millisecond
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "twice")
	for _, name := range []string{"a", "b"} { // locks go with those who hold them
		f, err := os.Open(filepath.Join(p.tree, name))
		require.NoError(t, err)
		require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
		require.NoError(t, f.Close())
	}
}

func TestASessionThatEndsByItself(t *testing.T) {
	t.Parallel()
	s := newPlace(t).open(t, `sleep 1000 & echo bye; yes "much to complain" | head -c 100000 >&2; echo last >&2; exit 3`)
	out, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "bye\n", string(out), "what it left behind does not hold its output open")
	chantest.Next(t, s.ended)
	require.Len(t, s.Tail(), maxTail)
	require.True(t, strings.HasSuffix(s.Tail(), "last\n"))
}

func TestASessionThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.open(t, `until [ -e go ]; do sleep 0.01; done; wc -c`)
	s.patience = 50 * time.Millisecond
	_, err := s.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, os.WriteFile(filepath.Join(p.tree, "go"), nil, 0o600))
	_, err = io.ReadAll(s)
	require.NoError(t, err, "its input ended: half a message is no message")
	_, err = s.Write([]byte("x"))
	require.Error(t, err)
}

func TestClosingASessionEndsReads(t *testing.T) {
	t.Parallel()
	s := newPlace(t).open(t, `sleep 1000`)
	s.grace = 50 * time.Millisecond
	read := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, s.Close())
	require.Error(t, chantest.Next(t, read))
}

func TestSessionsThatCannotStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.shell("true")
	c.Args = []string{"no-such-program"}
	_, err := Start(t.Context(), c)
	var missing *NotFoundError
	require.ErrorAs(t, err, &missing)
	c.Dir = "relative"
	_, err = Start(t.Context(), c)
	require.ErrorIs(t, err, ErrInvalid)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(over, p.shell("true"))
	require.ErrorIs(t, err, context.Canceled)
	s, err := Start(t.Context(), p.shell("exec /nonexistent/program"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
