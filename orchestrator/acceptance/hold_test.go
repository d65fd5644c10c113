package acceptance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// held is a run whose task t has a patch with fewer tests.
func held(t *testing.T, change func(s *run.Spec)) *runtest.Log {
	t.Helper()
	l := newLog(t, change)
	l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
	settle(t, l, verdict(acceptance.Ask, "fewer tests"))
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["t"].State)
	return l
}

// settle imports the newest patch and returns whether it was checked.
func settle(t *testing.T, l *runtest.Log, v acceptance.Verdict) (checked bool) {
	t.Helper()
	actions := acceptance.Settle(l.State)
	require.Len(t, actions, 1)
	ask, ok := actions[0].(acceptance.Import)
	require.True(t, ok)
	l.Do(ask.Then(v))
	return ask.Patch != nil
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{
		"":                {},
		run.OnDoubtAsk:    {},
		run.OnDoubtReject: {"task t pending the patch was rejected: fewer tests decided by policy"},
		run.OnDoubtAccept: {"task t running decided by policy"},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			l := held(t, func(s *run.Spec) { s.OnDoubt = policy })
			require.Equal(t, want, runtest.Describe(decision.Policy(l.State)))
		})
	}
}

func TestTheMasterDecidesBeforeThePolicy(t *testing.T) {
	t.Parallel()
	l := held(t, func(s *run.Spec) { s.OnDoubt, s.Plan = run.OnDoubtAccept, nil })
	require.Empty(t, decision.Policy(l.State), "the master has not been called since")
	l.Dispatched("master", "master", 1, "b")
	require.Empty(t, decision.Policy(l.State), "it is at work")
	l.Ended("master", 1, spec.Result{Status: spec.StatusDone})
	l.Append("master", run.TaskData{State: run.TaskPending})
	require.Len(t, decision.Policy(l.State), 1, "it left the patch to others")
}

func TestAnAcceptedPatchGoesOn(t *testing.T) {
	t.Parallel()
	l := held(t, nil)
	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["t"], run.Answer{Option: run.Accept, By: wire.Person("ada")}))
	require.False(t, settle(t, l, acceptance.Verdict{}), "it is not doubted twice")
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["t"].State)
	require.Equal(t, []run.Doubt{{
		Attempt: 1, Evidence: []string{"fewer tests"}, Kinds: []string{"fewer tests"}, Pos: l.Tasks.ByID["t"].Doubts[0].Pos,
		Answer: &run.Answer{
			ID: run.DecisionID("t", l.Tasks.ByID["t"].Doubts[0].Pos), Option: run.Accept, By: wire.Person("ada"),
		},
	}}, l.Tasks.ByID["t"].Doubts)
}

func TestARejectedPatchIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	l := held(t, nil)
	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["t"], run.Answer{Option: run.Reject, Text: "Keep TestA.\nIt is right.", By: "master/2"}))
	v := l.Tasks.ByID["t"]
	require.Equal(t, run.TaskPending, v.State)
	require.Len(t, v.Faults, 1)
	require.Equal(t, wire.FaultRejected, v.Faults[0].Fault.Class)
	require.Equal(t, "Keep TestA.\nIt is right.\nfewer tests", v.Faults[0].Fault.Detail)
	require.False(t, v.AcceptedDespiteDoubt())
}

// With --review a person sees each patch, also one that the master has accepted, and no policy decides.
func TestReview(t *testing.T) {
	t.Parallel()
	l := held(t, func(s *run.Spec) { s.Review, s.OnDoubt = true, run.OnDoubtAccept })
	l.Do(decision.Policy(l.State))
	settle(t, l, acceptance.Verdict{})
	v := l.Tasks.ByID["t"]
	require.Equal(t, run.TaskHeld, v.State)
	require.True(t, v.Doubt().Review)
	require.Empty(t, decision.Policy(l.State))
	l.Do(recovery.Decide(&l.Agenda, l.Works, v, run.Answer{Option: run.Accept, By: wire.Person("ada")}))
	settle(t, l, acceptance.Verdict{})
	require.Equal(t, run.TaskAccepted, v.State)
}
