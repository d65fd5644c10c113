package workspace_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"divisi/internal/git"
)

// TestParallelChurn carries tasks through several goroutines, all landing in one mirror.
func TestParallelChurn(t *testing.T) {
	t.Parallel()
	const tasks, workers = 48, 6
	b := newBundle(t, fileSet(100))
	commits := make([]string, tasks)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(workers)
	for i := range tasks {
		group.Go(func() error {
			s, err := b.pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer b.pool.Release(s)
			if err := s.Reset(ctx, b.base); err != nil {
				return err
			}
			name := fmt.Sprintf("new/task%d.txt", i)
			write(t, filepath.Join(s.Dir(), name), name)
			write(t, filepath.Join(s.Dir(), "left", "over"), "untracked by the next")
			p, pack, err := s.Collect(ctx, b.base, name, author, noon)
			if err != nil {
				return err
			}
			if fmt.Sprint(p.Files) != "[left/over "+name+"]" {
				return fmt.Errorf("task %d changed %v", i, p.Files)
			}
			commits[i] = p.Commit
			if err := b.mirror.Import(ctx, pack); err != nil {
				return err
			}
			return git.CheckPatch(ctx, b.mirror, *p, func(string, bool) bool { return true })
		})
	}
	require.NoError(t, group.Wait())
	head := b.base
	for i, c := range commits {
		m, err := b.mirror.MergeTree(t.Context(), head, c)
		require.NoError(t, err)
		require.True(t, m.Clean(), "task %d: %+v", i, m.Conflicts)
		head, err = b.mirror.CommitTree(m.Tree, []string{head, c}, "land", author, author, noon)
		require.NoError(t, err)
	}
	files, err := b.mirror.Files(t.Context(), head)
	require.NoError(t, err)
	require.Len(t, files, 100+tasks+1)
	userGit(t, b.mirror.Dir(), "fsck", "--strict", "--no-dangling")
}
