package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A pack of a draft is all that another repository with the base needs, in both formats of ids.
func TestDraftPack(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		u := newCommitted(t, "--object-format="+format)
		b, other := u.mirrored(), u.mirrored()
		d := b.m.Draft()
		content := []byte("new\r\n$Id$\x00")
		p := &spec.Patch{Base: b.base, Files: []string{"dir/b.txt", "dir/sub/c.txt", "new/file"}, Deleted: 1}
		var err error
		p.Tree, err = d.Edit(t.Context(), b.base, []Change{
			{Path: "new/file", NewMode: ModeExec, NewOID: d.Blob(content)},
			{Path: "dir/b.txt", NewMode: ModeFile, NewOID: d.Blob(content)},
			{Path: "dir/sub/c.txt", NewMode: ModeNone},
		})
		require.NoError(t, err)
		p.Commit, err = d.CommitTree(p.Tree, []string{b.base}, "m", divisi, divisi, noon)
		require.NoError(t, err)
		pack := d.Pack()
		require.NoError(t, d.Flush(t.Context()))
		for _, m := range []*Repo{b.m, other.m} {
			require.NoError(t, m.Import(t.Context(), pack))
			require.NoError(t, CheckPatch(t.Context(), m, *p, func(string, bool) bool { return true }))
			data, err := m.ReadFile(t.Context(), p.Commit, "new/file", 100)
			require.NoError(t, err)
			require.Equal(t, content, data)
			userGit(t, m.Dir(), "fsck", "--full", "--strict", "--no-dangling")
		}
		require.NotEmpty(t, b.m.Draft().Pack())
		require.Empty(t, d.Pack(), "a part of it is written already")
		d = b.m.Draft()
		d.Blob([]byte(strings.Repeat("x", maxWhole+1)))
		require.Empty(t, d.Pack(), "git packs less")
	}
}

func TestUnusual(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	b := u.mirrored()
	links, emptyDirs, err := b.m.Unusual(t.Context(), b.base)
	require.NoError(t, err)
	require.Empty(t, links)
	require.False(t, emptyDirs)
	u.git("update-index", "--add", "--cacheinfo", "160000,"+b.base+",lib/sub", "--cacheinfo", "160000,"+b.base+",z")
	u.git("commit", "-q", "-m", "submodules")
	links, emptyDirs, err = u.mirrored().m.Unusual(t.Context(), u.git("rev-parse", "HEAD"))
	require.NoError(t, err)
	require.Equal(t, []string{"lib/sub", "z"}, links)
	require.False(t, emptyDirs)
	full := u.git("rev-parse", "HEAD")
	for _, name := range []string{"a", "zz"} {
		u.git("update-ref", "HEAD", full)
		id := u.withEmptyDir(name)
		u.git("update-ref", "HEAD", id)
		_, emptyDirs, err = u.mirrored().m.Unusual(t.Context(), id)
		require.NoError(t, err)
		require.True(t, emptyDirs, name)
	}
	_, _, err = b.m.Unusual(t.Context(), strings.Repeat("7", 40))
	require.ErrorContains(t, err, "list the files of 777")
}

// withEmptyDir commits a tree with a directory that has no file.
func (u *user) withEmptyDir(name string) string {
	u.t.Helper()
	tree := func(lines string) string {
		cmd := userCommand(u.t, u.dir, "mktree")
		cmd.Stdin = strings.NewReader(lines)
		out, err := cmd.Output()
		require.NoError(u.t, err)
		return strings.TrimSpace(string(out))
	}
	inner := tree("040000 tree " + tree("") + "\tempty\n")
	return u.git("commit-tree", "-m", "empty", tree(u.git("ls-tree", "HEAD")+"\n040000 tree "+inner+"\t"+name+"\n"))
}
