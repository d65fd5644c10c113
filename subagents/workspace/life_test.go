package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// BenchmarkPatchLife measures git's part in the life of a one-line patch, from a clean slot to a landed commit, in a
// repository of 1,000 files.
func BenchmarkPatchLife(b *testing.B) {
	bundle := newBundle(b, fileSet(1000))
	s := bundle.slot(b)
	head := bundle.base
	require.NoError(b, bundle.mirror.UpdateRef(b.Context(), "refs/heads/run", head, ""))
	steps := map[string]time.Duration{}
	for i := 0; b.Loop(); i++ {
		step := func(name string, do func() error) {
			start := time.Now()
			require.NoError(b, do())
			steps[name] += time.Since(start)
		}
		step("reset", func() error { return s.Reset(b.Context(), head) })
		path := filepath.Join(s.Dir(), "pkg7", "file70.txt")
		require.NoError(b, os.WriteFile(path, []byte(strconv.Itoa(i)+"\n"), 0o644))
		var patch *spec.Patch
		var pack []byte
		step("collect", func() (err error) {
			patch, pack, err = s.Collect(b.Context(), head, "change", author, noon)
			return err
		})
		step("import", func() error { return bundle.mirror.Import(b.Context(), pack) })
		step("check", func() error {
			return git.CheckPatch(b.Context(), bundle.mirror, *patch, func(string) bool { return true })
		})
		var merge git.Merge
		step("merge", func() (err error) {
			merge, err = bundle.mirror.MergeTree(b.Context(), head, patch.Commit)
			return err
		})
		step("commit", func() error {
			id, err := bundle.mirror.CommitTree(merge.Tree, []string{head, patch.Commit}, "land", author, author, noon)
			if err != nil {
				return err
			}
			old := head
			head = id
			return bundle.mirror.UpdateRef(b.Context(), "refs/heads/run", id, old)
		})
	}
	var total time.Duration
	for name, d := range steps {
		total += d
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms/op")
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "git-ms/op")
}
