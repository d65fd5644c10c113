package settings

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/store"
)

// checkout makes a repository with a remote; "" for none.
func checkout(t *testing.T, remote string) *git.Checkout {
	t.Helper()
	dir := t.TempDir()
	calls := [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "base"}}
	if remote != "" {
		calls = append(calls, []string{"remote", "add", "origin", remote})
	}
	for _, args := range calls {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	g, err := git.New(context.Background())
	require.NoError(t, err)
	c, err := g.Inspect(context.Background(), dir)
	require.NoError(t, err)
	return c
}

func keep(t *testing.T, state store.Dir, c *git.Checkout, text string) Kept {
	t.Helper()
	k, err := At(state, c)
	require.NoError(t, err)
	require.NoError(t, k.Write(text))
	return k
}

// Clones of one remote share what is kept; only the one for which a person has kept it is trusted with it.
func TestClonesShareSettings(t *testing.T) {
	t.Parallel()
	state := store.Dir{Path: t.TempDir()}
	one, two := checkout(t, "https://ada:s3cret@example.com/a/b.git"), checkout(t, "git@Example.com:a/b")
	fork, none := checkout(t, "git@example.com:fork/b"), checkout(t, "")
	k := keep(t, state, one, "budget: 5\n")
	require.NotContains(t, k.Path, "example")
	data, err := os.ReadFile(k.Path)
	require.NoError(t, err)
	require.NotContains(t, string(data), "s3cret")
	for _, tt := range []struct {
		c      *git.Checkout
		budget int
		own    bool
	}{{one, 5, true}, {two, 5, false}, {fork, 0, false}, {none, 0, false}} {
		s, err := Read(state, tt.c, nil)
		require.NoError(t, err)
		require.Equal(t, spec.Tokens(tt.budget), s.Budget)
		require.Equal(t, tt.own, s.Own)
		require.Equal(t, tt.budget > 0, s.Place != "")
	}
	keep(t, state, none, "budget: 6\n")
	s, err := Read(state, none, nil)
	require.NoError(t, err)
	require.Equal(t, spec.Tokens(6), s.Budget)
	require.True(t, s.Own)

	require.NoError(t, os.Mkdir(filepath.Join(one.Top, ".divisi"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(one.Top, ".divisi", "divisi.yaml"), []byte("budget: 7\n"), 0o600))
	s, err = Read(state, one, nil)
	require.NoError(t, err)
	require.Equal(t, spec.Tokens(7), s.Budget)
	require.False(t, s.Own)
	require.Empty(t, s.Place)
	require.Equal(t, map[string]string{"budget": ".divisi/divisi.yaml:1"}, s.From)
	s, err = Read(state, one, &configs.File{Name: "mine.yaml", Text: "budget: 8\n"})
	require.NoError(t, err)
	require.Equal(t, spec.Tokens(8), s.Budget)
	require.True(t, s.Own)
	require.Equal(t, "the project file is the one that you named: mine.yaml", s.Place)

	inside := store.Dir{Path: filepath.Join(two.Top, "state")}
	keep(t, inside, two, "budget: 9\n")
	s, err = Read(inside, two, nil)
	require.NoError(t, err)
	require.Zero(t, s.Budget, "the repository could bring it")
}

// Settings that cannot be read are no settings of another kind: they are refused.
func TestKeptSettingsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	state, c := store.Dir{Path: t.TempDir()}, checkout(t, "")
	k := keep(t, state, c, "")
	write := func(text string) { require.NoError(t, os.WriteFile(k.Path, []byte(text), 0o600)) }
	for want, damage := range map[string]func(){
		":2:1: unknown field \"budgets\"": func() { write("# x\nbudgets: 1\n") },
		"is not UTF-8 text":               func() { write("\xff") },
		"it is larger than 64 KiB":        func() { write(strings.Repeat("# \n", 64<<10)) },
		"other users can read or change":  func() { write(""); require.NoError(t, os.Chmod(k.Path, 0o666)) },
		"it is not a regular file": func() {
			require.NoError(t, os.Symlink(filepath.Join(c.Top, "x"), k.Path))
		},
	} {
		require.NoError(t, os.Remove(k.Path))
		damage()
		_, err := Read(state, c, nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, k.Path)
	}
}
