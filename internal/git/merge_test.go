package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMergeTree(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ours := b.change(b.base, map[string]string{"a.txt": "ONE\ntwo\nthree\n"})
	theirs := b.change(b.base, map[string]string{"dir/b.txt": "B\n"})
	m, err := b.m.MergeTree(t.Context(), ours, theirs)
	require.NoError(t, err)
	require.True(t, m.Clean())
	both := b.change(b.base, map[string]string{"a.txt": "ONE\ntwo\nthree\n", "dir/b.txt": "B\n"})
	want, err := b.m.Tree(t.Context(), both)
	require.NoError(t, err)
	require.Equal(t, want, m.Tree)
}

func TestMergeTreeConflicts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	files := map[string]string{}
	for _, n := range []string{"1", "2", "3", "4"} {
		files["old/f"+n] = strings.Repeat("line "+n+"\n", 20)
	}
	root := b.change(b.base, files)
	moved := map[string]string{}
	for name, content := range files {
		moved[name], moved["new/"+strings.TrimPrefix(name, "old/")] = "", content
	}
	for name, c := range map[string]struct {
		ours, theirs map[string]string
		kind, path   string
	}{
		"contents": {map[string]string{"a.txt": "ours\n"}, map[string]string{"a.txt": "theirs\n"}, "contents", "a.txt"},
		"binary":   {map[string]string{"bin": "\x00a"}, map[string]string{"bin": "\x00b"}, "binary", "bin"},
		"deleted":  {map[string]string{"a.txt": ""}, map[string]string{"a.txt": "theirs\n"}, "modify/delete", "a.txt"},
		"directory renamed": {
			moved, map[string]string{"old/added": "x\n"}, "directory rename suggested", "new/added",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := b.change(root, c.ours), b.change(root, c.theirs)
			m, err := b.m.MergeTree(t.Context(), ours, theirs)
			require.NoError(t, err)
			require.False(t, m.Clean())
			require.True(t, ValidID(m.Tree))
			kinds := map[string]string{}
			for _, conflict := range m.Conflicts {
				kinds[conflict.Type] = conflict.Path
				require.NotEmpty(t, conflict.Message)
			}
			require.Equal(t, c.path, kinds[c.kind], "%+v", m)
		})
	}
}

func TestMergeTreeOfAnUnknownCommit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.m.MergeTree(t.Context(), b.base, strings.Repeat("8", 40))
	require.Error(t, err, "exit code 1 without a tree is no conflict")
	_, err = b.m.MergeTree(t.Context(), b.base, "--help")
	require.ErrorIs(t, err, ErrBadName)
}
