package orchestrator

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/orchestrator/run"
)

// What landed last is nowhere any more: what is left ends before it, and its tasks are named.
func TestWhatLandedEndsAtTheNewestCommitThatIsThere(t *testing.T) {
	t.Parallel()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	repo := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", repo).Run())
	require.NoError(t, exec.Command("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q",
		"--allow-empty", "-m", "Begin").Run())
	c, err := g.Inspect(t.Context(), repo)
	require.NoError(t, err)
	h := &conduct{git: g}
	h.mirror, err = g.CreateMirror(t.Context(), filepath.Join(t.TempDir(), mirrorDir), c, c.Head)
	require.NoError(t, err)
	tree, err := h.mirror.Tree(t.Context(), c.Head)
	require.NoError(t, err)
	who := git.Ident{Name: "n", Email: "e"}
	landed, err := h.mirror.CommitTree(tree, []string{c.Head}, "a", who, who, now())
	require.NoError(t, err)
	st := run.NewState()
	st.Spec.Base = c.Head
	st.Batches.Landed = []run.Landing{
		{Head: landed, Tasks: []run.Landed{{Task: "a"}}},
		{Head: strings.Repeat("1", 40), Tasks: []run.Landed{{Task: "c"}}},
		{Head: strings.Repeat("2", 40), Tasks: []run.Landed{{Task: "b"}}},
	}
	missing, err := h.wholeHead(t.Context(), st)
	require.NoError(t, err)
	require.Equal(t, landed, st.Head)
	require.Equal(t, "2 landed tasks cannot be found any more: b, c", missing)

	st.Batches.Landed = st.Batches.Landed[2:]
	missing, err = h.wholeHead(t.Context(), st)
	require.NoError(t, err)
	require.Equal(t, c.Head, st.Head)
	require.Equal(t, "1 landed task cannot be found any more: b", missing)
}
