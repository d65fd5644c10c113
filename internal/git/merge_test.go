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

// A merge has names beside each other that neither side has.
func TestMergeTreeFindsNames(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	root := b.change(b.base, map[string]string{"old/f": strings.Repeat("line\n", 20), "Aux.c": "1\n"})
	for name, c := range map[string]struct {
		ours, theirs map[string]string
		path         string
	}{
		"case":      {map[string]string{"pkg/Foo.go": "1\n"}, map[string]string{"pkg/foo.go": "2\n"}, "pkg/foo.go"},
		"directory": {map[string]string{"Pkg/a": "1\n"}, map[string]string{"pkg/b": "2\n"}, "pkg"},
		"accents":   {map[string]string{"caf\u00e9": "1\n"}, map[string]string{"cafe\u0301": "2\n"}, "cafe\u0301"},
		"of one side": {
			map[string]string{"a.txt": "1\n"}, map[string]string{"foo.go": "2\n", "Foo.go": "3\n", "nul": "4\n", "AUX.c": "5\n"}, "",
		},
		"of the other": {map[string]string{"foo.go": "2\n", "Foo.go": "3\n"}, map[string]string{"dir/new": "4\n"}, ""},
		"a directory where the other has a file": {
			map[string]string{"thing": "1\n"}, map[string]string{"thing/below": "2\n"}, "thing/below",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := b.m.MergeTree(t.Context(), b.change(root, c.ours), b.change(root, c.theirs))
			require.NoError(t, err)
			require.Equal(t, c.path == "", m.Clean(), "%+v", m)
			if c.path != "" && name != "a directory where the other has a file" {
				require.Equal(t, []string{c.path}, m.Paths)
				require.Contains(t, m.Conflicts[0].Message, "is the same name as")
			}
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
