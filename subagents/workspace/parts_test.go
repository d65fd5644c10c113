package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/workspace"
)

// part owns what is at and below its files.
func part(files ...string) workspace.Part {
	set := spec.WriteSet{Files: files}
	return workspace.Part{
		Files: files, Owns: func(path string) bool { return set.Refuse(path) == "" }, Message: strings.Join(files, " "), At: noon,
	}
}

func TestCollectPartsMakesAPatchOfEach(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a": "a\n", "b": "b\n", "d": "file\n", "e/f": "f\n", "run": "r\n", "same": "s\n"})
	edits := []func(dir string){
		func(dir string) { write(t, filepath.Join(dir, "a"), "A\n") },
		func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "d")))
			write(t, filepath.Join(dir, "d/inner"), "inner\n")
		},
		func(string) {},
		func(dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
			write(t, filepath.Join(dir, "e"), "e\n")
			require.NoError(t, os.Chmod(filepath.Join(dir, "run"), 0o755))
		},
		func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "b"))) },
	}
	parts := []workspace.Part{part("a"), part("d"), part("same"), part("e", "run"), part("b", "new")}
	joint := b.slot(t)
	for _, edit := range edits {
		edit(joint.Dir())
	}
	first, _, err := joint.CollectParts(t.Context(), b.base, author, parts)
	require.NoError(t, err)
	settled(t, joint, b.base) // what it had written is gone, and is written again
	for _, edit := range edits {
		edit(joint.Dir())
	}
	patches, pack, err := joint.CollectParts(t.Context(), b.base, author, parts)
	require.NoError(t, err)
	require.Equal(t, first, patches)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	for i, edit := range edits {
		alone := b.slot(t)
		edit(alone.Dir())
		want, _, err := alone.Collect(t.Context(), b.base, parts[i].Message, author, noon)
		require.NoError(t, err)
		require.Equal(t, want, patches[i])
		if want != nil {
			has, err := b.mirror.Has(t.Context(), want.Commit)
			require.NoError(t, err)
			require.True(t, has)
		}
	}

	settled(t, joint, b.base)
	write(t, filepath.Join(joint.Dir(), "a"), "A\n")
	write(t, filepath.Join(joint.Dir(), "stray"), "x\n")
	_, _, err = joint.CollectParts(t.Context(), b.base, author, parts)
	require.ErrorIs(t, err, workspace.ErrOutside)
	require.ErrorContains(t, err, "stray")

	for _, name := range []string{"new/.gitignore", "new/.gitattributes", ".gitmodules"} {
		settled(t, joint, b.base)
		write(t, filepath.Join(joint.Dir(), name), "*.txt\n")
		write(t, filepath.Join(joint.Dir(), "new/of-another.txt"), "x\n")
		_, _, err = joint.CollectParts(t.Context(), b.base, author, append(parts, part(name)))
		require.ErrorIs(t, err, workspace.ErrObeyed)
	}

	for _, dir := range []string{"new", "."} {
		settled(t, joint, b.base)
		write(t, filepath.Join(joint.Dir(), dir, ".gitignore"), "*\n")
		write(t, filepath.Join(joint.Dir(), "new/of-another.txt"), "x\n")
		_, _, err = joint.CollectParts(t.Context(), b.base, author, append(parts, part("new/of-another.txt")))
		require.ErrorIs(t, err, workspace.ErrObeyed, "a list of ignored files that hides itself")
	}

	settled(t, joint, b.base)
	write(t, filepath.Join(joint.Dir(), "of-all/.gitignore"), "*\n")
	all := workspace.Part{Owns: func(string) bool { return true }, At: noon}
	_, _, err = joint.CollectParts(t.Context(), b.base, author, []workspace.Part{all})
	require.NoError(t, err, "it hides itself alone")

	settled(t, joint, b.base)
	write(t, filepath.Join(joint.Dir(), ".cache/.gitignore"), "*\n")
	write(t, filepath.Join(joint.Dir(), ".cache/entry"), "x\n")
	patches, pack, err = joint.CollectParts(t.Context(), b.base, author, parts)
	require.NoError(t, err)
	require.Empty(t, pack)
	require.Equal(t, make([]*spec.Patch, len(parts)), patches)
}
