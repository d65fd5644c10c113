package main

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator"
)

func TestProposalsThatWereDecidedDoNotWait(t *testing.T) {
	t.Parallel()
	m, _, err := memory.Open(t.Context(), memory.Options{Repo: t.TempDir(), Home: t.TempDir()})
	require.NoError(t, err)
	h := &holder{g: &globals{log: zerolog.Nop()}, notes: m}
	defer h.forget()
	st := orchestrator.NewState()
	st.Run, st.Plans = orchestrator.RunDone, []orchestrator.PlanData{{DecisionRecord: "Use text.Blank."}}
	st.Tasks["t"] = &orchestrator.TaskView{Task: spec.Task{ID: "t"}, State: orchestrator.TaskLanded}
	h.propose(t.Context(), st)
	require.Equal(t, 1, h.proposed)
	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Reject(t.Context(), all[0].ID))
	h.propose(t.Context(), st)
	require.Zero(t, h.proposed)
}
