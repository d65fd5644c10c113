package conduct

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
)

// ofOneCommit conducts a run of a repository with one commit, which has no mirror yet.
func ofOneCommit(t *testing.T) *Half {
	t.Helper()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	repo := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", repo).Run())
	require.NoError(t, exec.Command("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q",
		"--allow-empty", "-m", "Begin").Run())
	c, err := g.Inspect(t.Context(), repo)
	require.NoError(t, err)
	return &Half{Git: g, Checkout: c, Path: t.TempDir(), Spec: run.Spec{Run: "r", Base: c.Head}}
}

// What landed last is nowhere any more: what is left ends before it, and its tasks are named.
func TestWhatLandedEndsAtTheNewestCommitThatIsThere(t *testing.T) {
	t.Parallel()
	h := ofOneCommit(t)
	var err error
	h.Mirror, err = h.newMirror(t.Context(), filepath.Join(h.Path, mirrorDir))
	require.NoError(t, err)
	tree, err := h.Mirror.Tree(t.Context(), h.Spec.Base)
	require.NoError(t, err)
	who := git.Ident{Name: "n", Email: "e"}
	landed, err := h.Mirror.CommitTree(tree, []string{h.Spec.Base}, "a", who, who, depot.Now())
	require.NoError(t, err)
	st := run.NewState()
	st.Spec.Base = h.Spec.Base
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
	require.Equal(t, h.Spec.Base, st.Head)
	require.Equal(t, "1 landed task cannot be found any more: b", missing)

	st.Batches.Landed = []run.Landing{{Head: landed, Tasks: []run.Landed{{Task: "a"}}}}
	missing, err = h.wholeHead(t.Context(), st)
	require.NoError(t, err)
	require.Equal(t, landed, st.Head)
	require.Empty(t, missing) // what is lost had not landed
}

// The log has lost a landing, and so only the damaged mirror has it.
func TestAMirrorIsKeptThatHasWhatTheLogLost(t *testing.T) {
	t.Parallel()
	h := ofOneCommit(t)
	var err error
	h.Bus, err = bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Bus.Close(context.Background())) })
	dir := filepath.Join(h.Path, mirrorDir)
	old, err := h.newMirror(t.Context(), dir)
	require.NoError(t, err)
	tree, err := old.Tree(t.Context(), h.Spec.Base)
	require.NoError(t, err)
	who := git.Ident{Name: "n", Email: "e"}
	landed, err := old.CommitTree(tree, []string{h.Spec.Base}, "a", who, who, depot.Now())
	require.NoError(t, err)
	require.NoError(t, old.UpdateRef(t.Context(), run.IntegrationRef("r"), landed, ""))
	old.Close()
	damaged := filepath.Join(dir, "objects", "11")
	require.NoError(t, os.MkdirAll(damaged, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, strings.Repeat("1", 38)), []byte("damaged"), 0o600))

	st := run.NewState()
	st.Spec, st.Head, st.Damaged = h.Spec, h.Spec.Base, true
	lost, err := h.soundMirror(t.Context(), h.Bus, st)
	require.NoError(t, err)
	require.NoError(t, lost)
	t.Cleanup(h.Mirror.Close)
	kept, err := filepath.Glob(dir + ".damaged-*")
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, h.keepCutOff(t.Context(), st)) // the process before appended, and so moved the mark
	at, err := h.Mirror.Ref(t.Context(), "refs/divisi/cut-off/"+landed)
	require.NoError(t, err)
	require.Equal(t, landed, at)
}
