package conductor_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/baseline"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
)

// hidingRig has a gate with two tests. The task hide ends one of them, without a failure; the task other changes something else.
func hidingRig(t *testing.T, gate string) *rig {
	return newRig(t, files(2), func(s *run.Spec) {
		s.Project.Gates = []spec.Gate{{Name: "test", Command: []string{"sh", "-c", gate}, Format: "tap"}}
		addRoles(s, command("hide", "echo 'exit(0)' > f00.txt"), command("more", "echo more > f01.txt"))
		s.OnDoubt = run.OnDoubtAccept
		s.Plan = planOf(
			spec.Task{ID: "hide", Role: "hide", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "other", Role: "more", Brief: "b", Files: []string{"f01.txt"}},
		)
	})
}

const hiding = `echo ok 1 - adds; if grep -q exit f00.txt; then echo 1..1; else echo ok 2 - takes away; echo 1..2; fi`

func unverified(t *testing.T, st *run.State) {
	t.Helper()
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Contains(t, st.Reason, `1 of 2 landed patches (hide): gate test passes without 1 test of the base commit`)
	require.Contains(t, st.Tasks.ByID["hide"].Landed.Unverified, `"takes away"`)
	require.Empty(t, st.Tasks.ByID["other"].Landed.Unverified)
	require.Empty(t, st.Tasks.ByID["other"].Doubts)
	require.Empty(t, st.Missing, "it was asked about")
}

// A test that does not run any more is asked about before its patch lands. Killed anywhere from the first batch on, the resumed run
// asks too, and comes to the same.
func TestSlowAKillLosesNoQuestionAboutATestThatDidNotRun(t *testing.T) {
	t.Parallel()
	r := hidingRig(t, hiding)
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	unverified(t, st)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"hide", "other"}, want.tasks)
	log, begun := readLog(t, r), false
	for k := 1; k < len(log); k++ {
		begun = begun || bytes.Contains(log[k-1].Data, []byte(`"kind":"landing"`))
		if !begun || testing.Short() && k%4 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("killed behind %02d %s", k, log[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k])
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			defer f.worker(ctx)()
			st, err := f.conduct(ctx, f.quietly())
			require.NoError(t, err)
			unverified(t, st)
			require.Equal(t, want, f.outcome(st.Head))
		})
	}
	require.True(t, begun)
}

// What ends by chance is no question: where a test has another name in each run, the base commit shows it.
func TestATestWithARandomNameIsNoQuestion(t *testing.T) {
	t.Parallel()
	r := hidingRig(t, `echo ok 1 - adds; echo "ok 2 - run $(tr -dc g-z < /dev/urandom | head -c 12)"; echo 1..2`)
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	if again := st.Works[run.AgainTask]; again != nil { // else the second run for flaky tests was there before
		require.Equal(t, 1, again.Last)
	}
	require.Len(t, st.Proofs.Baseline["test"].Names, 2)
	require.Empty(t, st.Tasks.ByID["hide"].Doubts)
}

// A kept baseline has the tests that passed in every run on the base commit, and a later run compares with them.
func TestTestsAreKeptWithTheBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("several whole runs")
	}
	t.Parallel()
	kept := &baseline.Store{
		Dir: filepath.Join(t.TempDir(), "baselines"), Cache: t.TempDir(), Clock: time.Now, Host: func() (string, error) { return "", nil },
	}
	once := hidingRig(t, hiding+`; if [ "$DIVISI_TASK" = `+run.BaselineTask+` ]; then echo ok 3 - by chance; fi`)
	conduct := func(r *rig) *run.State {
		cfg := r.quietly()
		cfg.Baselines = kept
		stop := r.worker(t.Context())
		defer stop()
		st, err := r.conduct(t.Context(), cfg)
		require.NoError(t, err)
		return st
	}
	unverified(t, conduct(once))

	again := hidingRig(t, once.spec.Project.Gates[0].Command[2])
	st := conduct(again)
	unverified(t, st)
	require.Nil(t, st.Works[run.BaselineTask])
	require.Nil(t, st.Works[run.AgainTask], "an earlier run ran the gates there twice")
	tests, err := testnames.Load(t.Context(), again.bus, st.Proofs.Baseline["test"].Names...)
	require.NoError(t, err)
	require.Equal(t, testnames.List{{Name: "adds"}, {Name: "takes away"}}, tests)
}
