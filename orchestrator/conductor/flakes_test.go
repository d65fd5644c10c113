package conductor_test

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/baseline"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// flakesRig has one task, and a gate that runs tests; its second run on the base commit does what a script says.
func flakesRig(t *testing.T, second string) *rig {
	return newRig(t, files(1), func(s *run.Spec) {
		script := `if [ "$DIVISI_TASK" = ` + run.FlakesTask + ` ]; then ` + second + `; fi; echo 1..2; echo ok 1 x; echo ok 2 y`
		s.Project.Gates = []spec.Gate{{Name: "test", Command: []string{"sh", "-c", script}, Format: "tap"}}
		s.Plan = planOf(spec.Task{ID: "t00", Role: "generator", Brief: "b", Attempts: 1, Files: []string{fileOf(0)}})
	})
}

// gatesAnd starts a worker for the gates; what other roles do is given.
func (r *rig) gatesAnd(ctx context.Context, do func(a *wire.Assignment) spec.Result) (stop func()) {
	all := r.spec.Roles
	r.spec.Roles = map[string]spec.Role{spec.RoleTester: all[spec.RoleTester]}
	endGates := r.worker(ctx)
	r.spec.Roles = maps.Clone(all)
	delete(r.spec.Roles, spec.RoleTester)
	endHands := r.hands(ctx, do)
	r.spec.Roles = all
	return func() { endHands(); endGates() }
}

// begun reports whether a worker has begun the second run since a position of the log.
func begun(st *run.State, since uint64) bool {
	w := st.Works[run.FlakesTask]
	return w != nil && w.Attempts[1].StartedPos > since
}

func TestABatchEndsTheSecondRunOnTheBase(t *testing.T) {
	t.Parallel()
	r := flakesRig(t, "sleep 600")
	ctx, kill := context.WithCancel(t.Context())
	stop := r.gatesAnd(ctx, func(*wire.Assignment) spec.Result { <-ctx.Done(); return spec.Result{} })
	go func() { r.until(func(st *run.State) bool { return begun(st, 0) }, "it does not begin"); kill() }()
	st, err := r.conduct(ctx, r.config())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Stopped, st.Status, "it is stopped while the gates run on the base commit again")
	require.True(t, st.Works[run.FlakesTask].Outstanding())
	stopped := st.Pos

	began := time.Now()
	stop = r.gatesAnd(t.Context(), func(a *wire.Assignment) spec.Result {
		r.until(func(st *run.State) bool { return begun(st, stopped) }, "it does not go on")
		return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, fileOf(0), "good")}
	})
	st, err = r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	stop()
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"t00"}, r.landed())
	require.Equal(t, 1, st.Works[run.FlakesTask].Last, "it is not tried again")
	require.True(t, st.Works[run.FlakesTask].Attempts[1].Void)
	require.Nil(t, st.Proofs.Flaky)
	require.Less(t, time.Since(began), 5*time.Minute)
}

func TestFlakyTestsAreKeptWithTheBaseline(t *testing.T) {
	t.Parallel()
	r := flakesRig(t, "echo 1..2; echo ok 1 x; echo not ok 2 y; exit 1")
	defer r.gatesAnd(t.Context(), func(a *wire.Assignment) spec.Result {
		r.until(func(st *run.State) bool { return st.Proofs.Flaky != nil }, "the runs are not compared")
		return spec.Result{Status: spec.StatusDone, Patch: r.patch(a.Head, fileOf(0), "good")}
	})()
	cfg := r.config()
	store := &baseline.Store{
		Dir: filepath.Join(r.dir, "baselines"), Cache: t.TempDir(), Host: func() (string, error) { return "host", nil }, Clock: time.Now,
	}
	cfg.Baselines = store
	st, err := r.conduct(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, map[string][]string{"test": {"test: y"}}, st.Proofs.Flaky)
	require.Contains(t, st.Notices, "flaky on the base commit, red in one of two runs: test: test: y; where nothing else is red, a "+
		"batch is tested once more")
	files, err := filepath.Glob(filepath.Join(store.Dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	kept, err := cfg.Baselines.Kept(strings.TrimSuffix(filepath.Base(files[0]), ".json"))
	require.NoError(t, err)
	require.Equal(t, st.Proofs.Flaky, kept.Flaky)
	require.Len(t, kept.Receipts, 1)
}
