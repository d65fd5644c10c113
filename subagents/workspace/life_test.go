package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// BenchmarkPatchLife measures git's part in the life of a one-line patch, from a used slot to a landed commit. first-ms is the
// first use of a slot.
func BenchmarkPatchLife(b *testing.B) {
	for _, files := range []int{1000, 40000} {
		b.Run(strconv.Itoa(files), func(b *testing.B) { patchLife(b, files) })
	}
}

func patchLife(b *testing.B, files int) {
	bundle := newBundle(b, fileSet(files))
	began := time.Now()
	s := bundle.slot(b)
	first := time.Since(began)
	head := bundle.base
	require.NoError(b, bundle.mirror.UpdateRef(b.Context(), "refs/heads/run", head, ""))
	steps, cpu := map[string]time.Duration{}, map[string]time.Duration{}
	for i := 0; b.Loop(); i++ {
		step := func(name string, do func() error) {
			start, used := time.Now(), cpuTime(b)
			require.NoError(b, do())
			steps[name], cpu[name] = steps[name]+time.Since(start), cpu[name]+cpuTime(b)-used
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
			return git.CheckPatch(b.Context(), bundle.mirror, *patch, func(string, bool) bool { return true })
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
	var total, used time.Duration
	for name, d := range steps {
		total, used = total+d, used+cpu[name]
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms/op")
		b.ReportMetric(float64(cpu[name].Microseconds())/1000/float64(b.N), name+"-cpu-ms/op")
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "git-ms/op")
	b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
}

// cpuTime is what this process and its children that have ended have used so far.
func cpuTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
