package git

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEdit compares with git's index, also where a file becomes a directory, a directory a file, and a directory empty.
func TestEdit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	blob := map[string]string{}
	for _, e := range must(b.m.Files(t.Context(), b.base)) {
		blob[e.Path] = e.OID
	}
	start := b.change(b.base, map[string]string{
		"d/e/f": "1\n", "d/e/g": "2\n", "d.txt": "3\n", "d-x/y": "4\n", "z": "5\n", ModeExec + ":d/run": "6\n",
	})
	paths := []string{"d", "d/e", "d/e/f", "d/e/g", "d/e/f/deep/er", "d.txt", "d-x", "d-x/y", "d/run", "z", "z/z", "new", "a.txt"}
	index := filepath.Join(t.TempDir(), "index")
	byIndex := func(changes []Change) string {
		d := Dir{GitDir: b.m.dir, Index: index}
		must(b.g.Run(t.Context(), d, nil, "read-tree", start))
		var lines strings.Builder
		for _, gone := range []bool{true, false} {
			for _, c := range changes {
				if (c.NewMode == ModeNone) == gone {
					fmt.Fprintf(&lines, "%s %s\t%s\x00", c.NewMode, c.NewOID, c.Path)
				}
			}
		}
		must(b.g.Run(t.Context(), d, strings.NewReader(lines.String()), "update-index", "-z", "--index-info"))
		return strings.TrimSpace(string(must(b.g.Run(t.Context(), d, nil, "write-tree"))))
	}
	rapid.Check(t, func(rt *rapid.T) {
		var lists [][]Change
		for range rapid.IntRange(1, 3).Draw(rt, "lists") {
			var list []Change
			for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 0, 5, rapid.ID).Draw(rt, "paths") {
				c := Change{Path: path, NewMode: ModeNone, NewOID: strings.Repeat("0", len(start))}
				within := func(o Change) bool {
					return o.NewMode != ModeNone && (strings.HasPrefix(o.Path, path+"/") || strings.HasPrefix(path, o.Path+"/"))
				}
				taken := false
				for _, o := range list {
					taken = taken || within(o)
				}
				if mode := rapid.SampledFrom([]string{ModeNone, ModeFile, ModeExec, ModeSymlink}).Draw(rt, "mode"); !taken {
					if c.NewMode = mode; mode != ModeNone {
						c.NewOID = blob["a.txt"]
					}
				}
				list = append(list, c)
			}
			lists = append(lists, list)
		}
		d := b.m.Draft()
		for _, list := range lists {
			tree, err := d.Edit(t.Context(), start, list)
			require.NoError(rt, err)
			require.Equal(rt, byIndex(list), tree, "%+v", list)
		}
		require.NoError(rt, d.Flush(t.Context()))
	})
	_, err := b.m.Draft().Edit(t.Context(), start, []Change{{Path: "x", NewMode: ModeFile, NewOID: "--help"}})
	require.ErrorIs(t, err, ErrBadName)
	_, err = b.m.Draft().Edit(t.Context(), strings.Repeat("7", 40), []Change{{Path: "x", NewMode: ModeNone}})
	require.ErrorIs(t, err, ErrNotFound)
}

// TestMergeOfEdits compares with git's merge: what is merged by tree has its outcome, on whatever the other side has done.
func TestMergeOfEdits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	files := map[string]string{}
	for _, name := range []string{"a", "b", "d/a", "d/b", "d/e/a", "other/a"} {
		files[name] = strings.Repeat("line of "+name+"\n", 20)
	}
	root := b.change(b.base, files)
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "other/a", "d/new", "moved/a"}
	contents := []string{"", "x\n", "y\n", files["a"], files["d/a"]}
	draw := func(rt *rapid.T, label string) map[string]string {
		m := map[string]string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(rt, label) {
			mode := rapid.SampledFrom([]string{"", "", "", ModeExec + ":", ModeSymlink + ":"}).Draw(rt, "mode")
			m[mode+name] = rapid.SampledFrom(contents).Draw(rt, "content")
		}
		return m
	}
	byTree := 0
	rapid.Check(t, func(rt *rapid.T) {
		ours := root
		for range rapid.IntRange(0, 3).Draw(rt, "commits") {
			ours = b.change(ours, draw(rt, "ours"))
		}
		theirs := b.change(root, draw(rt, "theirs"))
		want, err := b.m.mergeTree(t.Context(), ours, theirs)
		require.NoError(rt, err)
		tree, ok, err := b.m.Draft().mergeEdits(t.Context(), ours, theirs)
		require.NoError(rt, err)
		if ok {
			byTree++
			require.True(rt, want.Clean(), "%+v", want)
			require.Equal(rt, want.Tree, tree)
		}
	})
	require.Positive(t, byTree)
}

// A commit that is not on the line that the other one begins with is merged by git.
func TestMergeOfEditsNeedsTheParent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.change(b.base, map[string]string{"a.txt": "first\n"})
	theirs := b.change(first, map[string]string{"dir/b.txt": "B\n"})
	plain := b.change(first, map[string]string{"dir/b.txt": "b\n"})
	run := b.change(plain, map[string]string{ModeExec + ":dir/b.txt": "b\n"})
	content := b.change(plain, map[string]string{"dir/b.txt": "B\n"})
	_, ok, err := b.m.Draft().mergeEdits(t.Context(), run, content)
	require.NoError(t, err)
	require.False(t, ok, "ours has another mode")
	for name, ours := range map[string]string{
		"on another line": b.change(b.base, map[string]string{"dir/c.txt": "C\n"}),
		"on it already":   b.change(theirs, map[string]string{"dir/b.txt": "b\n"}),
	} {
		_, ok, err := b.m.Draft().mergeEdits(t.Context(), ours, theirs)
		require.NoError(t, err, name)
		require.False(t, ok, name)
	}
	two, err := b.m.CommitTree(must(b.m.Tree(t.Context(), theirs)), []string{first, b.base}, "m", divisi, divisi, noon)
	require.NoError(t, err)
	_, ok, err = b.m.Draft().mergeEdits(t.Context(), first, two)
	require.NoError(t, err)
	require.False(t, ok, "two parents")
}

// The base of a mirror names a parent that is not there.
func TestMergeOfTheBase(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("a.txt", "second\n")
	u.commit("second")
	b := u.mirrored()
	ours := b.change(b.base, map[string]string{"a.txt": "third\n"})
	m, err := b.m.MergeTree(t.Context(), ours, b.base)
	require.NoError(t, err)
	require.Equal(t, must(b.m.Tree(t.Context(), ours)), m.Tree)
}

// What a draft holds back is written as one pack where it is much, and once.
func TestDraft(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	large := strings.Repeat("more than two thousand bytes; ", 200)
	d, last := b.m.Draft(), b.base
	for i := range manyObjects {
		blob := must(b.m.Lookup(t.Context(), b.base, []string{"a.txt"}))[0].OID
		tree, err := d.Edit(t.Context(), last, []Change{{Path: fmt.Sprintf("new/%d", i), NewMode: ModeFile, NewOID: blob}})
		require.NoError(t, err, "also of a commit that is not written yet")
		last, err = d.CommitTree(tree, []string{last}, large, divisi, divisi, noon)
		require.NoError(t, err)
	}
	has, err := b.m.Has(t.Context(), last)
	require.NoError(t, err)
	require.False(t, has, "it is held back")
	before := packsOf(t, b.m)
	for range 2 {
		require.NoError(t, d.Flush(t.Context()))
		require.Len(t, packsOf(t, b.m), len(before)+1)
	}
	require.Equal(t, large+"\n", must(b.m.Commit(t.Context(), last)).Message)
	require.Len(t, must(b.m.Files(t.Context(), last)), len(must(b.m.Files(t.Context(), b.base)))+manyObjects)
	userGit(t, b.m.Dir(), "fsck", "--full", "--strict", "--no-dangling")
}

func packsOf(t testing.TB, r *Repo) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(r.Objects(), "pack", "*.pack"))
	require.NoError(t, err)
	return packs
}
