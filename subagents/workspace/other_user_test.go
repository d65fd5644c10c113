//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

// asNobody names the directory of the child that runs without privileges: root may write read-only directories, so that
// only another user can prove that they are handled.
const asNobody = "DIVISI_TEST_AS_NOBODY"

func TestMain(m *testing.M) {
	if os.Getenv(asNobody) != "" {
		os.Exit(runAsNobody()) //nolint:forbidigo // here the test binary is another program
	}
	goleak.VerifyTestMain(m)
}

func TestReadOnlyLeftOvers(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "divisi-other-") //nolint:usetesting // another user may not enter what t.TempDir makes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, workspace.Remove(dir)) })
	if os.Geteuid() != 0 {
		require.NoError(t, readOnlyStory(t.Context(), dir))
		return
	}
	binary := filepath.Join(dir, "workspace.test")
	copyProgram(t, binary)
	require.NoError(t, os.Chown(dir, 65534, 65534))
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, asNobody + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer from.Close()
	// No other test may fork while the program is open for writing: its child would keep it open, and it could not be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(f, from)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func runAsNobody() int {
	if err := readOnlyStory(context.Background(), os.Getenv(asNobody)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// readOnlyStory resets over read-only directories, then lets a second holder take over from one that died with them.
func readOnlyStory(ctx context.Context, dir string) error {
	user, outside := filepath.Join(dir, "user"), filepath.Join(dir, "outside")
	if err := errors.Join(os.MkdirAll(filepath.Join(user, "dir"), 0o755), os.MkdirAll(outside, 0o755),
		os.WriteFile(filepath.Join(user, "dir", "a.txt"), []byte("a\n"), 0o644),
		os.WriteFile(filepath.Join(outside, "keep"), []byte("keep\n"), 0o644), os.Chmod(outside, 0o555)); err != nil {
		return err
	}
	for _, line := range []string{"init -q", "add -A", "-c user.name=U -c user.email=u@l commit -qm 1"} {
		args := strings.Fields(line)
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = user
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	g, err := git.New(ctx)
	if err != nil {
		return err
	}
	c, err := g.Inspect(ctx, user)
	if err != nil {
		return err
	}
	m, err := g.CreateMirror(ctx, filepath.Join(dir, "m.git"), c, c.Head)
	if err != nil {
		return err
	}
	for range 2 {
		if err := oneHolder(ctx, g, m, filepath.Join(dir, "slots"), outside); err != nil {
			return err
		}
	}
	return checkOutside(outside)
}

// oneHolder makes a pool, resets over read-only directories, leaves new ones and dies without closing anything.
func oneHolder(ctx context.Context, g *git.Git, m *git.Repo, slots, outside string) error {
	pool, err := workspace.NewPool(g, m, slots, time.Time{})
	if err != nil {
		return err
	}
	s, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	if err := s.Reset(ctx, m.Base()); err != nil {
		return err
	}
	if err := lockUp(s.Dir(), outside); err != nil {
		return err
	}
	p, _, err := s.Collect(ctx, m.Base(), "locked up", author, noon)
	if err != nil {
		return fmt.Errorf("collect what may not be read: %w", err)
	}
	if want := []string{"cache/mod@v1/deep/out", "cache/mod@v1/deep/x", "dir/a.txt"}; !slices.Equal(p.Files, want) {
		return fmt.Errorf("collected %q instead of %q", p.Files, want)
	}
	if err := s.Reset(ctx, m.Base()); err != nil {
		return fmt.Errorf("reset over read-only directories: %w", err)
	}
	left, err := os.ReadDir(s.Dir())
	if err != nil || len(left) != 2 || left[0].Name() != ".git" || left[1].Name() != "dir" {
		return fmt.Errorf("the reset left %v, %w", left, err)
	}
	if data, err := os.ReadFile(filepath.Join(s.Dir(), "dir", "a.txt")); err != nil || string(data) != "a\n" {
		return fmt.Errorf("a.txt is %q, %w", data, err)
	}
	return lockUp(s.Dir(), outside)
}

// lockUp fills a tree with what its owner may not delete as it is.
func lockUp(dir, outside string) error {
	deep := filepath.Join(dir, "cache", "mod@v1", "deep")
	return errors.Join(
		os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "x"), nil, 0),
		os.Symlink(outside, filepath.Join(deep, "out")),
		os.WriteFile(filepath.Join(dir, "dir", "a.txt"), []byte("changed\n"), 0o644),
		os.Chmod(filepath.Join(dir, "dir", "a.txt"), 0),
		os.Chmod(deep, 0o555), os.Chmod(filepath.Dir(deep), 0), os.Chmod(filepath.Join(dir, "cache"), 0o555),
		os.Chmod(filepath.Join(dir, "dir"), 0o500), os.Chmod(filepath.Join(dir, ".git", "objects", "info"), 0),
		os.Chmod(filepath.Join(dir, ".git", "objects"), 0), os.Chmod(filepath.Join(dir, ".git"), 0),
	)
}

// checkOutside proves that nothing went through the link.
func checkOutside(outside string) error {
	info, err := os.Stat(outside)
	if err != nil || info.Mode().Perm() != 0o555 {
		return fmt.Errorf("outside is now %v, %w", info, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "keep")); err != nil {
		return err
	}
	return os.Chmod(outside, 0o755)
}
