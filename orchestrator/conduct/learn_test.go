package conduct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestARunCountsItsOwnProposals(t *testing.T) {
	t.Parallel()
	m, _, err := memory.Open(t.Context(), memory.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	h := &Half{notes: m}
	st := run.NewState()
	st.Spec.Run, st.Usage.Prompt = "r1", 1
	st.Status, st.Plans.All = run.Done, []run.PlanData{{DecisionRecord: "Use text.Blank."}}
	st.Tasks.ByID["t"] = &run.Task{Task: spec.Task{ID: "t"}, State: run.TaskLanded}
	h.propose(t.Context(), st)
	require.Equal(t, 1, h.proposed)
	_, err = m.Propose(t.Context(), memory.Note{Title: "Run make gen first", Text: "It takes a minute.", Source: "r1/t"})
	require.NoError(t, err)
	h.propose(t.Context(), st)
	require.Equal(t, 2, h.proposed, "the run's, and that of an agent")

	later := *st
	later.Spec.Run = "r2"
	h.propose(t.Context(), &later)
	require.Zero(t, h.proposed, "an earlier run has proposed the same")

	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	for _, p := range all {
		require.NoError(t, m.Reject(t.Context(), p.ID))
	}
	h.propose(t.Context(), st)
	require.Zero(t, h.proposed, "a person has decided")
}

func TestARunWithoutAModelProposesNothing(t *testing.T) {
	t.Parallel()
	m, _, err := memory.Open(t.Context(), memory.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	h := &Half{notes: m}
	st := run.NewState()
	st.Status, st.Spec.Project.Gates = run.Done, []spec.Gate{{Name: "test"}}
	st.Proofs.Baseline["test"] = spec.Receipt{Gate: "test", Verdict: spec.VerdictFail, Signatures: []string{"a.go: undefined: y"}}
	h.propose(t.Context(), st)
	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	st.Usage.Prompt = 1
	h.propose(t.Context(), st)
	require.Equal(t, 1, h.proposed)
}
