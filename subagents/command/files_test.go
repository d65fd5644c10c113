package command

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
)

// odd are names that a shell takes apart.
var odd = []string{"-dash.txt", "a b.txt", "caf\xe9.txt", "new\nline.txt", `quo'te".txt`, "$HOME.txt", "[id].txt"}

func oddTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range odd {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "x.txt"), nil, 0o600))
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "sub", "link")))
	return dir
}

func TestACommandIsGivenItsFilesAsArguments(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed", "-i", "s/old/new/", spec.ArgFiles}}
	a.Task.Files = odd
	c := &Executor{Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute}, Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}}
	check := func() {
		r, err := c.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		for _, name := range odd {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, "new\n", string(text), name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o600))
		}
	}
	check()
	a.Role.Each, a.Role.Command[3] = true, spec.ArgFile
	check()
}

func TestACommandRunsOncePerFileUntilOneFails(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Each: true, Command: []string{
		"sh", "-c", `echo "$1 $DIVISI_FILES"; cat > "$1.in"; test "$1" != "a b.txt"`, "sh", spec.ArgFile,
	}}
	a.Task.Files = []string{"$HOME.txt", "a b.txt", "sub/x.txt"}
	dir := oddTree(t)
	c := &Executor{Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute}, Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.Contains(t, r.Error.Message, "on file 2 of 3, a b.txt")
	require.NoFileExists(t, filepath.Join(dir, "sub", "x.txt.in"), "it stops at the first failure")
	given, err := os.ReadFile(filepath.Join(dir, "$HOME.txt.in"))
	require.NoError(t, err)
	require.Contains(t, string(given), `"files":["$HOME.txt"]`)
}

func TestFilesOfATask(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "untracked.txt"), nil, 0o600))
	require.NoError(t, os.Symlink("x.txt", filepath.Join(dir, "sub", "x-link.txt")))
	tracked := slices.Concat(odd, []string{"sub/x.txt", "sub/link", "sub/x-link.txt", "sub/gone.txt"})
	a := testAssignment()
	c := &Executor{Assignment: a, Dir: dir, Tracked: func(context.Context) ([]string, error) { return tracked, nil }}
	files, err := c.filesOf(t.Context(), []string{"sub", "*b.txt", "new.go", "[id].txt", "sub/*.txt", "a b.txt"})
	require.NoError(t, err)
	require.Equal(t, []string{"[id].txt", "a b.txt", "new.go", "sub/x.txt"}, files, "those of the commit, without links, each once")
	require.Equal(t, []string{"the command is not given 2 symbolic links: sub/link, sub/x-link.txt"}, c.leftOut())
	files, err = c.filesOf(t.Context(), []string{"sub/link", "sub/untracked.txt"})
	require.NoError(t, err)
	require.Equal(t, []string{"sub/untracked.txt"}, files, "what is named is given, but for a link")
	require.Equal(t, []string{"the command is not given 1 symbolic link: sub/link"}, c.leftOut())
	a.Role.Command, a.Task.Files = []string{"x", spec.ArgFiles}, []string{"sub/link"}
	_, why, err := c.runs(t.Context())
	require.NoError(t, err)
	require.Contains(t, why, "there are none; the command is not given 1 symbolic link: sub/link")

	a.Role.Command, a.Task.Files = []string{"x", spec.ArgFiles}, []string{"*.none"}
	_, why, err = c.runs(t.Context())
	require.NoError(t, err)
	require.Contains(t, why, "there are none")
	a.Task.Files = []string{strings.Repeat("x", MaxNames), "y"}
	_, why, err = c.runs(t.Context())
	require.NoError(t, err)
	require.Contains(t, why, "each: true")
	a.Role.Each = true
	a.Task.Files = []string{strings.Repeat("x", 200), "y"}
	runs, why, err := c.runs(t.Context())
	require.NoError(t, err)
	require.Empty(t, why)
	require.Len(t, runs, 2)
}

func testAssignment() *wire.Assignment {
	return &wire.Assignment{
		Run: "r1", Task: spec.Task{ID: "t1", Role: "generator", Brief: "do it"}, Attempt: 1, Delivery: 1,
		Role: spec.Role{Name: "generator", Executor: spec.ExecutorModel},
	}
}
