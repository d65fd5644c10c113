package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestAClockThatIsSetBackFailsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var n atomic.Int64
	w := NewWorker(Config{
		Bus: s.bus, Name: "w", Mirror: s.mirror, Pool: s.pool, Roles: []string{"mod"}, Environments: newEnvironments(s.t, s.dir), Environ: os.Environ(),
		Caches: sandbox.Caches{Dir: filepath.Join(s.dir, "caches")}, Temp: t.TempDir(), Log: zerolog.Nop(),
		// Each inspect the clock is an hour earlier.
		Clock: func() time.Time { return time.Unix(2_000_000_000, 0).Add(-time.Duration(n.Add(1)) * time.Hour).UTC() },
	})
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(w.Stop)
	a := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", "echo more >> a.txt"}}, "skew")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	require.Zero(t, r.Took)
}

func TestACommandIsNotStartedWithMoreFilesThanItsEnvironmentHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "mod")
	a := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"true"}}, "many")
	for i := range 4000 {
		a.Task.Files = append(a.Task.Files, fmt.Sprintf("some/directory/of/the/project/file%05d.go", i))
	}
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.Contains(t, r.Error.Message, "max_files")
}
