package git

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommitTreeIsWhatGitWrites(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tree, err := b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
	author := Ident{Name: "Ada L.ü", Email: "ada@example.org"}
	const message = "subject\n\nbody\n\nDivisi-Task: t1\n"
	id, err := b.m.CommitTree(tree, []string{b.base}, message, author, divisi, noon)
	require.NoError(t, err)
	date := fmt.Sprintf("@%d +0000", noon.Unix())
	cmd := exec.CommandContext(t.Context(), "git", "commit-tree", tree, "-p", b.base)
	cmd.Env = []string{
		"GIT_DIR=" + b.m.Dir(), "GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email,
		"GIT_COMMITTER_NAME=" + divisi.Name, "GIT_COMMITTER_EMAIL=" + divisi.Email,
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}
	cmd.Stdin = strings.NewReader(message)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(out)), id)
	userGit(t, b.m.Dir(), "fsck", "--strict", "--no-dangling")
	again, err := b.m.CommitTree(tree, []string{b.base}, message, author, divisi, noon)
	require.NoError(t, err)
	require.Equal(t, id, again)

	c, err := b.m.Commit(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, Commit{ID: id, Tree: tree, Parents: []string{b.base}, Message: message}, c)
	_, err = b.m.Commit(t.Context(), tree)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = b.m.Commit(t.Context(), strings.Repeat("5", 40))
	require.ErrorIs(t, err, ErrNotFound)
}

func TestCommitTreeTakesAnyMessage(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tree, err := b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
	id, err := b.m.CommitTree(tree, nil, "bad \xff\x00 text\n\n\n", divisi, divisi, noon)
	require.NoError(t, err)
	c, err := b.m.Commit(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "bad \uFFFD text\n", c.Message)
	require.Empty(t, c.Parents)
	for _, who := range []Ident{{}, {Name: "a\nb"}, {Name: "a <b>"}, {Name: "x", Email: "a>b"}, {Name: " x"}, {Name: "."}} {
		_, err = b.m.CommitTree(tree, nil, "m", who, divisi, noon)
		require.ErrorIs(t, err, ErrBadName, "%+v", who)
	}
}

func TestTrailers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tree, err := b.m.Tree(t.Context(), b.base)
	require.NoError(t, err)
	commit := func(message string, parents ...string) string {
		id, err := b.m.CommitTree(tree, parents, message, divisi, divisi, noon)
		require.NoError(t, err)
		return id
	}
	side := commit("side\n\nDivisi-Task: side\n", b.base)
	one := commit("land one\n\nText.\n\nDivisi-Task: one\nDivisi-Role: generator\nSee: x\nSee: y\n", b.base)
	two := commit("land two\n\nNo trailers here.\n", one, side)
	got, err := b.m.Trailers(t.Context(), b.base, two)
	require.NoError(t, err)
	require.Equal(t, []Landed{
		{Commit: one, Parents: []string{b.base}, Subject: "land one", Trailers: map[string][]string{
			"Divisi-Task": {"one"}, "Divisi-Role": {"generator"}, "See": {"x", "y"},
		}},
		{Commit: side, Parents: []string{b.base}, Subject: "side", Trailers: map[string][]string{"Divisi-Task": {"side"}}},
		{Commit: two, Parents: []string{one, side}, Subject: "land two", Trailers: map[string][]string{}},
	}, got)
	got, err = b.m.Trailers(t.Context(), two, two)
	require.NoError(t, err)
	require.Empty(t, got)
}
