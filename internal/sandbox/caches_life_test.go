//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCachesThatNoRunUsesAreDropped(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "caches")
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"old", "held", "new", "unmarked", "agents", "gates"} {
		dir := filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		if name == "unmarked" {
			continue
		}
		release, err := LockCaches(dir)
		require.NoError(t, err)
		if name == "held" {
			defer release()
		} else {
			release()
		}
		if name != "new" {
			require.NoError(t, os.Chtimes(dir+".lock", long, long))
		}
	}
	var dropped []string
	drop := func(dir string) error {
		dropped = append(dropped, filepath.Base(dir))
		return os.RemoveAll(dir)
	}
	require.NoError(t, DropCaches(base, long.Add(time.Minute), drop))
	require.ElementsMatch(t, []string{"old", "agents", "gates"}, dropped)
	require.NoFileExists(t, filepath.Join(base, "old.lock"))
	require.NoError(t, DropCaches(base, long.Add(time.Minute), drop))
	require.Len(t, dropped, 3, "those that are left were used, are held, or are marked now")
	require.NoError(t, DropCaches(filepath.Join(base, "none"), time.Now(), drop))

	// Held again, they are new.
	release, err := LockCaches(filepath.Join(base, "old"))
	require.NoError(t, err)
	release()
	require.NoError(t, DropCaches(base, long.Add(time.Minute), drop))
	require.Len(t, dropped, 3)
}

func TestALockThatItsHolderRemovesHasOneHolder(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.lock")
	var holders, most atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				f, err := TryLock(name)
				if err != nil {
					t.Error(err)
					return
				}
				if f == nil {
					continue
				}
				if n := holders.Add(1); n > most.Load() {
					most.Store(n)
				}
				runtime.Gosched()
				holders.Add(-1)
				if err := errors.Join(os.Remove(name), f.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, most.Load())
}
