//go:build unix

package git

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/testkit/chantest"
)

// The child of TestCreateMirrorIsKilled finds its task in these variables.
const (
	childMirror = "DIVISI_TEST_MIRROR"
	childRepo   = "DIVISI_TEST_REPO"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childMirror); dir != "" {
		os.Exit(createAndDie(dir, os.Getenv(childRepo))) //nolint:forbidigo // here the test binary is another program
	}
	goleak.VerifyTestMain(m)
}

// TestCreateMirrorIsKilled kills the whole creating process with SIGKILL while git packs, and creates again.
func TestCreateMirrorIsKilled(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	bin, fifo := t.TempDir(), filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	script := "#!/bin/sh\ncase \"$*\" in *pack-objects*) echo half >\"$GIT_DIR/objects/pack/tmp_pack_x\"; echo $$ >" + fifo +
		"; exec sleep 1000;; esac\nexec " + program + " \"$@\"\n"
	// No other test may fork while the script is open for writing: its child would keep it open, and it could not be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "m.git")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), childMirror+"="+dir, childRepo+"="+u.dir)
	require.NoError(t, cmd.Start())
	pipe, err := os.Open(fifo)
	require.NoError(t, err)
	line, err := bufio.NewReader(pipe).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.DirExists(t, dir+".partial", "it died in the middle")

	g := newGit(t)
	_, err = g.OpenMirror(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	c, err := g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	m, err := g.CreateMirror(t.Context(), dir, c, c.Head)
	require.NoError(t, err)
	require.NoDirExists(t, dir+".partial")
	userGit(t, m.Dir(), "fsck", "--strict", "--no-dangling")
}

// createAndDie is the process that is killed.
func createAndDie(dir, repo string) int {
	ctx := context.Background()
	g, err := New(ctx)
	if err != nil {
		return 2
	}
	c, err := g.Inspect(ctx, repo)
	if err != nil {
		return 3
	}
	if _, err := g.CreateMirror(ctx, dir, c, c.Head); err != nil {
		return 4
	}
	return 0
}

func TestCancelKillsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *version*) echo git version 2.39.5; exit;; esac\nsleep 1000 &\necho $!\nwait\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	g, err := New(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := g.exec(ctx, call{dir: Dir{GitDir: dir}, stdout: pw, args: []string{"hang"}})
		done <- err
	}()
	pid := make([]byte, 16)
	n, err := pr.Read(pid)
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, chantest.Next(t, done), context.Canceled)
	out, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strings.TrimSpace(string(pid[:n]))).Output()
	state := strings.TrimSpace(string(out))
	require.True(t, state == "" || strings.HasPrefix(state, "Z"), "the grandchild is %q", state)
}
