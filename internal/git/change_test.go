package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{
		"a.txt": "one\n2\nthree\nfour\n", "dir/b.txt": "", "new\tü\n.txt": "x\ny\n", "bin": "\x00\x01",
		ModeExec + ":dir/sub/c.txt": "c\n", ModeGitlink + ":sub": strings.Repeat("6", 40),
	})
	changes, err := b.m.Changed(t.Context(), b.base, next)
	require.NoError(t, err)
	for i := range changes {
		require.True(t, ValidID(changes[i].OldOID))
		require.True(t, ValidID(changes[i].NewOID))
		changes[i].OldOID, changes[i].NewOID = "", ""
	}
	require.Equal(t, []Change{
		{Path: "a.txt", OldMode: ModeFile, NewMode: ModeFile, Status: 'M', Added: 2, Deleted: 1},
		{Path: "bin", OldMode: ModeNone, NewMode: ModeFile, Status: 'A', Binary: true},
		{Path: "dir/b.txt", OldMode: ModeFile, NewMode: ModeNone, Status: 'D', Deleted: 1},
		{Path: "dir/sub/c.txt", OldMode: ModeFile, NewMode: ModeExec, Status: 'M'},
		{Path: "new\tü\n.txt", OldMode: ModeNone, NewMode: ModeFile, Status: 'A', Added: 2},
		{Path: "sub", OldMode: ModeNone, NewMode: ModeGitlink, Status: 'A', Added: 1},
	}, changes, "gitlinks too")
	added, deleted := CountLines(changes)
	require.Equal(t, []int{5, 2}, []int{added, deleted})
	changes, err = b.m.Changed(t.Context(), next, next)
	require.NoError(t, err)
	require.Empty(t, changes)
	_, err = b.m.Changed(t.Context(), "--output=x", next)
	require.ErrorIs(t, err, ErrBadName)
}

func TestDiff(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{"a.txt": "one\n2\nthree\n", "dir/b.txt": "", "dir/moved.txt": "b\n"})
	text, cut, err := b.m.Diff(t.Context(), b.base, next, 1<<20)
	require.NoError(t, err)
	require.False(t, cut)
	require.Contains(t, text, "-two\n+2\n")
	require.Contains(t, text, "rename from dir/b.txt\nrename to dir/moved.txt\n")
	short, cut, err := b.m.Diff(t.Context(), b.base, next, 50)
	require.NoError(t, err)
	require.True(t, cut)
	require.Equal(t, text[:50], short)
	big := b.change(b.base, map[string]string{"big": strings.Repeat("a line\n", 200_000)})
	short, cut, err = b.m.Diff(t.Context(), b.base, big, 1000)
	require.NoError(t, err)
	require.True(t, cut)
	require.Len(t, short, 1000)
	_, _, err = b.m.Diff(t.Context(), b.base, strings.Repeat("7", 40), 1000)
	require.Error(t, err)
}
