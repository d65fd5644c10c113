package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/workspace"
)

// makeLong makes a file whose path is longer than any that the kernel takes, as a command does that goes down step by step.
func makeLong(t *testing.T, top, name string, levels int) {
	t.Helper()
	root, err := os.OpenRoot(top)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, root.Mkdir(name, 0o755))
		next, err := root.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, root.Close())
		root = next
	}
	require.NoError(t, root.WriteFile("lost", []byte("x\n"), 0o644))
	require.NoError(t, root.Close())
}

// What git passes over, and what no work tree can hold, is the attempt's failure with its name, and not an empty change.
func TestCollectTellsOfNamesThatAreTooLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part   string
		levels int
		want   string
	}{
		"too long for the kernel": {strings.Repeat("n", 200), 30, "make it shorter, or remove it"},
		"3,000 directories":       {"d", 3000, "make it shorter, or remove it"},
		"300 directories":         {"d", 300, "is a directory within 256 others; 255 are allowed"},
		"hidden":                  {"a\u202eb", 1, "has the control character U+202E in its name"},
		"that fits":               {strings.Repeat("n", 200), 15, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, map[string]string{"a.txt": "a\n", ".gitignore": "/build/\n"})
			s := b.slot(t)
			write(t, filepath.Join(s.Dir(), "a.txt"), "b\n")
			require.NoError(t, os.Mkdir(filepath.Join(s.Dir(), "top"), 0o755))
			makeLong(t, filepath.Join(s.Dir(), "top"), c.part, c.levels)
			p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, p.Files, 2)
				return
			}
			var content *workspace.ContentError
			require.ErrorAs(t, err, &content)
			require.Contains(t, content.Why, c.want)
			require.Less(t, len(content.Why), 500)
			require.NoError(t, s.Reset(t.Context(), b.base))
		})
	}
}

// What is ignored may be of any depth: caches are.
func TestCollectLeavesOutLongPathsThatAreIgnored(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", ".gitignore": "/build/\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "a.txt"), "b\n")
	require.NoError(t, os.Mkdir(filepath.Join(s.Dir(), "build"), 0o755))
	makeLong(t, filepath.Join(s.Dir(), "build"), strings.Repeat("n", 200), 30)
	p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt"}, p.Files)
}

// A commit that no work tree can hold is at fault, whatever git says of it, and the slot is as good as before.
func TestResetBlamesTheCommit(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	blob := strings.TrimSpace(run(t, b, "x\n", "hash-object", "-w", "--stdin"))
	tree := strings.TrimSpace(run(t, b, "100644 blob "+blob+"\t"+strings.Repeat("n", 5000)+"\n", "mktree"))
	d := b.mirror.Draft()
	deep, err := d.Edit(t.Context(), b.base, []git.Change{
		{Path: strings.Repeat("d/", 2100) + "f", NewMode: git.ModeFile, NewOID: blob},
	})
	require.NoError(t, err)
	require.NoError(t, d.Flush(t.Context()))
	for id, want := range map[string]string{
		tree: "n… has a name of 5000 bytes; 255 are allowed", deep: "d/… is a directory within 256 others; 255 are allowed",
	} {
		commit, err := b.mirror.CommitTree(id, []string{b.base}, "m", author, author, noon)
		require.NoError(t, err)
		err = s.Reset(t.Context(), commit)
		var content *workspace.ContentError
		require.ErrorAs(t, err, &content)
		require.Contains(t, content.Why, want)
		require.NoError(t, s.Reset(t.Context(), b.base))
	}
	require.Error(t, s.Reset(t.Context(), strings.Repeat("1", 40)))
}

func run(t *testing.T, b *bundle, in string, args ...string) string {
	t.Helper()
	out, err := b.git.Run(t.Context(), git.Dir{GitDir: b.mirror.Dir()}, strings.NewReader(in), args...)
	require.NoError(t, err)
	return string(out)
}

// A name that no patch may add can be removed, changed and given up for a better one.
func TestCollectTakesBadNamesAway(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "line\nbreak": "1\n2\n3\n", "caf\xe9.txt": "l\n", `back\slash`: "b\n", "sp\xe9": "s\n"})
	s := b.slot(t)
	require.NoError(t, os.Rename(filepath.Join(s.Dir(), "line\nbreak"), filepath.Join(s.Dir(), "line")))
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "caf\xe9.txt")))
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), `back\slash`)))
	write(t, filepath.Join(s.Dir(), "sp\xe9"), "changed\n")
	p, pack, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.Equal(t, []string{`back\slash`, "caf\xe9.txt", "line", "line\nbreak", "sp\xe9"}, p.Files)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	allowed := func(path string, _ bool) bool { return spec.WriteSet{}.Refuse(path) == "" }
	require.NoError(t, git.CheckPatch(t.Context(), b.mirror, *p, allowed))
}
