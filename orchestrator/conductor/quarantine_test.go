package conductor_test

import (
	"context"
	"crypto/ed25519"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// twoGates are two gates. Tasks name the first one alone, and the second one is left to the end.
func twoGates(s *run.Spec) {
	s.Project.Prove = spec.ProveEach
	s.Project.Gates = []spec.Gate{
		{Name: "test", Command: []string{"python3"}, Format: "tap"},
		{Name: "more", Command: []string{"python3", "more"}, Format: "tap"},
	}
}

// more is a machine of test that has the second gate too.
const more = "#!/bin/sh\nif [ \"$1\" = more ]; then echo 1..1; echo ok 1 - more; exit 0; fi\n"

// allPass is a gate that lies: all tests pass, whatever is in the tree.
const allPass = "#!/bin/sh\nprintf '1..3\\nok 1 - f00\\nok 2 - f01\\nok 3 - f02\\n'\n"

func machineOf(script string) string { return more + strings.TrimPrefix(script, "#!/bin/sh\n") }

func gated(t spec.Task, gates ...string) spec.Task {
	t.Gates = gates
	return t
}

// The gates of the end run on another worker than the one that proved the last batch, and so does the second proof of each batch:
// who proved it first hands such an attempt back.
func TestGatesRunAgainOnAnotherWorker(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) {
		twoGates(s)
		s.Reprove = 100
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"), gated(task("two", "late", "f02.txt", "one"), "test"))
	})
	defer m.join("a", machineOf(test("")), "tester", "good")()
	m.until(landed("one"))
	defer m.join("b", machineOf(test("")), "tester", "late")()
	st := m.end()
	require.Equal(t, run.Done, st.Status, st.Reason)
	last := &st.Batches.Landed[len(st.Batches.Landed)-1]
	require.Equal(t, "more", st.Final[1].Gate)
	require.NotEqual(t, last.By["test"], st.Final[1].Worker)
	require.Len(t, st.Batches.Seconds(), 2)
	for _, l := range st.Batches.Seconds() {
		require.Equal(t, run.SecondPassed, l.Second.State)
		require.NotContains(t, l.Provers(), l.Second.Worker)
	}
	require.Equal(t, 2, view.Of(st).Reproof.GateRuns)
}

// With one worker nothing waits for another one.
func TestOneWorkerRunsAllGates(t *testing.T) {
	t.Parallel()
	m := newMixed(t, func(s *run.Spec) {
		twoGates(s)
		s.Reprove = 100
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"))
	})
	defer m.join("a", machineOf(test("")))()
	st := m.end()
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, "a", st.Final[1].Worker)
	require.Contains(t, st.Notices, "batch 1 was not proven a second time: no other worker than a is there")
}

// A worker that leaves the final gates to the first environment is not waited for by the one that would leave them to it.
func TestAWorkerTellsItsEnvironmentWithoutAReceipt(t *testing.T) {
	t.Parallel()
	m := newMixed(t, func(s *run.Spec) {
		twoGates(s)
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"))
	})
	asked, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m.placed = func(_ context.Context, _ string, p wire.Placed) {
		once.Do(func() { // on a busy machine the attempt is delivered again
			require.Equal(t, wire.PartProve, p.Part)
			close(asked)
		})
		<-goOn
	}
	defer m.join("a", machineOf(test("")))()
	chantest.Next(t, asked)
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	require.NoError(t, m.conductor.Enlist(t.Context(), wire.Enlistment{
		Worker: "b", Version: "test", Protocol: wire.Protocol, Key: key.Public().(ed25519.PublicKey), Places: wire.Places{Gates: 1},
	}))
	st, err := m.fold(t.Context())
	require.NoError(t, err)
	require.True(t, st.May([]string{"a"}, true))
	p, err := m.conductor.Place(t.Context(), wire.Foreign{Worker: "b", Environment: "e2", Task: run.FinalTask, Attempt: 1})
	require.NoError(t, err)
	require.Equal(t, wire.PartYield, p.Part)
	m.until(func(s *run.State) bool { return s.Proofs.At["b"] == "e2" && !s.May([]string{"a"}, true) })
	close(goOn)
	m.until(func(s *run.State) bool { return s.Works.Settled(run.FinalTask) != nil }) // now b is to prove it too
	require.NoError(t, m.conductor.Discharge(t.Context(), "b", ""))
	require.Equal(t, "a", m.end().Final[1].Worker)
}

// A worker whose gates always pass is put into quarantine: it is out at once, also for the next conductor, another one proves what
// it alone has proven since, and the report names the batch that was a lie.
func TestAWorkerInQuarantine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) {
		twoGates(s)
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"), gated(task("two", "bad", "f01.txt", "one"), "test"),
			gated(task("three", "late", "f02.txt", "two"), "more"))
	})
	leave := m.join("a", machineOf(allPass), "tester", "good", "bad")
	m.until(landed("one"))
	since := time.Now()
	m.until(landed("two"))
	ask := func() (string, error) {
		return askFor(t.Context(), m.bus, m.spec.Run, act.Quarantine{Worker: "a", Since: since}, wire.Person("ann"))
	}
	outcome, err := ask()
	require.NoError(t, err)
	require.Equal(t, "1 landed change with the proof of worker a alone (two): the gates run on them again before the run ends", outcome)
	leave()
	m.cancel()
	chantest.Next(t, m.ended)

	m.conduct(true)
	require.ErrorContains(t, m.conductor.Enlist(t.Context(), wire.Enlistment{
		Worker: "a", Version: "test", Protocol: wire.Protocol, Key: m.keys["a"].Public().(ed25519.PublicKey), Places: wire.Places{Gates: 1},
	}), "worker a is in quarantine in this run")
	again, err := ask()
	require.NoError(t, err)
	require.Equal(t, outcome, again)
	defer m.join("b", machineOf(test("")))()
	st := m.end()
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.Equal(t, "the final gates are redder than the baseline, first after batch 2: two", st.Reason)
	r := view.Of(st)
	require.Equal(t, []string{"two"}, r.Quarantines[0].Alone)
	require.False(t, r.Quarantines[0].Proven)
	require.Equal(t, wire.Person("ann"), r.Quarantines[0].By)
}

// The second proof is red where the first was a lie: the run stops for a decision, and who decides against the first worker has its
// proofs given again.
func TestASecondProofFindsALie(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole run of several workers")
	}
	m := newMixed(t, func(s *run.Spec) {
		twoGates(s)
		s.Reprove = 100
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"), gated(task("two", "bad", "f01.txt", "one"), "test"),
			gated(task("three", "late", "f02.txt", "two"), "more"))
	})
	leave := m.join("a", machineOf(allPass), "tester", "good", "bad")
	m.until(landed("two"))
	leave()
	leave = m.join("b", machineOf(test("")))
	st := m.end()
	leave()
	require.Equal(t, run.Stopped, st.Status, st.Reason)
	require.Equal(t, "waits for a decision about batch 2: its gates passed on worker a, and failed on worker b", st.Reason)
	open := decision.Open(st)
	require.Len(t, open, 1)
	_, err := m.conductor.Do(t.Context(), act.Decide{Decision: open[0].ID, Option: run.Quarantined}, wire.Person("ann"))
	require.NoError(t, err)
	m.conduct(true)
	defer m.join("b", machineOf(test("")))()
	st = m.end()
	require.Equal(t, "the final gates are redder than the baseline, first after batch 2: two", st.Reason)
	require.Equal(t, []string{"one", "two", "three"}, st.Quarantines["a"].Alone, "all was compared with its baseline")
	require.Equal(t, "b", st.Proofs.Baseline["test"].Worker)
}
