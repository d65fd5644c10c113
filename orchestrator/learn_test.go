package orchestrator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestProposalsThatWereDecidedDoNotWait(t *testing.T) {
	t.Parallel()
	m, _, err := memory.Open(t.Context(), memory.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	h := &conduct{notes: m}
	st := run.NewState()
	st.Status, st.Plans.All = run.Done, []run.PlanData{{DecisionRecord: "Use text.Blank."}}
	st.Tasks.ByID["t"] = &run.Task{Task: spec.Task{ID: "t"}, State: run.TaskLanded}
	h.propose(t.Context(), st)
	require.Equal(t, 1, h.proposed)
	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Reject(t.Context(), all[0].ID))
	h.propose(t.Context(), st)
	require.Zero(t, h.proposed)
}
