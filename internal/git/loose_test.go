package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lined makes commits. Each has a tree of 300 files, and changes one of them. The ref refs/heads/x reaches the first half of the
// commits; no ref reaches the others.
func lined(t testing.TB, b *bundle, commits int) (ids []string) {
	t.Helper()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("f%03d.txt", i)] = "old"
	}
	head := b.change(b.base, files)
	for i := range commits {
		head = b.change(head, map[string]string{fmt.Sprintf("f%03d.txt", i%300): fmt.Sprint("line ", i)})
		ids = append(ids, head)
	}
	require.NoError(t, b.m.UpdateRef(t.Context(), "refs/heads/x", ids[commits/2], ""))
	return ids
}

func TestAMirrorIsPackedWhereThatPays(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of objects")
	}
	t.Parallel()
	b := newBundle(t)
	lined(t, b, 1)
	n, err := b.m.PackLoose(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "few objects stay as they are")
	var content []string
	for i := range ManyLoose {
		id, err := writeLoose(b.m.Objects(), len(b.base), "blob", []byte(strings.Repeat("same ", 200)+fmt.Sprint(i)))
		require.NoError(t, err)
		content = append(content, id)
	}
	before := userGit(t, b.m.Dir(), "count-objects", "-v")
	all := userGit(t, b.m.Dir(), "cat-file", "--batch-check", "--batch-all-objects")

	// Others read and write meanwhile, and one packs who is killed.
	killed, kill := context.WithCancel(t.Context())
	kill()
	_, err = b.m.PackLoose(killed)
	require.Error(t, err)
	require.Equal(t, all, userGit(t, b.m.Dir(), "cat-file", "--batch-check", "--batch-all-objects"))
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			infos, err := b.m.stat(t.Context(), content)
			if err != nil {
				t.Error(err)
			}
			for _, i := range infos {
				if i.kind != "blob" {
					t.Errorf("%s is missing while others pack", i.id)
				}
			}
		})
	}
	n, err = b.m.PackLoose(t.Context())
	require.NoError(t, err)
	require.Greater(t, n, ManyLoose)
	group.Wait()
	require.Equal(t, all, userGit(t, b.m.Dir(), "cat-file", "--batch-check", "--batch-all-objects"), "no object is lost")
	after := userGit(t, b.m.Dir(), "count-objects", "-v")
	require.Contains(t, before, fmt.Sprint("count: ", n))
	require.Contains(t, after, "count: 0\n")
	left, err := filepath.Glob(filepath.Join(b.m.Objects(), "pack", "tmp_*"))
	require.NoError(t, err)
	require.Empty(t, left)
	userGit(t, b.m.Dir(), "fsck", "--strict", "--no-dangling")
}

// What a git left that was killed goes once it is surely not written any more.
func TestUnfinishedPacksAreRemoved(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	old, fresh := filepath.Join(b.m.Objects(), "pack", "tmp_pack_old"), filepath.Join(b.m.Objects(), "pack", "tmp_pack_new")
	for _, path := range []string{old, fresh} {
		require.NoError(t, os.WriteFile(path, []byte("PACK"), 0o600))
	}
	past := time.Now().Add(-2 * stalePack)
	require.NoError(t, os.Chtimes(old, past, past))
	_, err := b.m.PackLoose(t.Context())
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, fresh)
}

func TestManyPacksGetOneIndex(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	last := b.base
	for i := range manyPacks {
		d := b.m.Draft()
		for k := range manyObjects {
			var err error
			last, err = d.CommitTree(must(b.m.Tree(t.Context(), b.base)), []string{last}, fmt.Sprint(i, k), divisi, divisi, noon)
			require.NoError(t, err)
		}
		require.NoError(t, d.Flush(t.Context()))
	}
	_, err := b.m.PackLoose(t.Context())
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(b.m.Objects(), "pack", "multi-pack-index"))
	userGit(t, b.m.Dir(), "fsck", "--full", "--strict", "--no-dangling")
	has, err := b.m.Has(t.Context(), last)
	require.NoError(t, err)
	require.True(t, has)
}
