package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// The events of experiments stay readable: testdata/trial.jsonl is the log of a run of format 4 in which one experiment held a patch and
// another one released one, without signatures and what only people read.
func TestALogWithExperimentsIsRead(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile("testdata/trial.jsonl")
	require.NoError(t, err)
	s := run.NewState()
	states := map[string][]run.TaskState{}
	for line := range bytes.Lines(log) {
		var e contextscope.Event
		require.NoError(t, json.Unmarshal(line, &e))
		require.NoError(t, s.Apply(&e))
		for t := range s.Tasks.All() {
			if had := states[t.Task.ID]; len(had) == 0 || had[len(had)-1] != t.State {
				states[t.Task.ID] = append(had, t.State)
			}
		}
		switch e.Pos {
		case 23:
			require.Equal(t, &run.Trial{
				Doubt: run.Doubt{Evidence: []string{
					"fee/fee_test.go: fewer assertions, 3 before and 2 after",
					"fee/fee_test.go: fewer assertions of an exact value, 3 before and 2 after",
				}},
				Files: []string{"fee/fee_test.go"}, Fewer: true,
			}, s.Tasks.ByID["weak"].Trial)
		case 34:
			require.Equal(t, 1, s.Tasks.ByID["weak"].Trial.Run)
		}
	}
	require.Empty(t, s.Unread)
	weak, honest := s.Tasks.ByID["weak"], s.Tasks.ByID["honest"]
	require.Equal(t, map[string][]run.TaskState{
		"weak":   {run.TaskPending, run.TaskRunning, run.TaskVerifying, run.TaskHeld},
		"honest": {run.TaskPending, run.TaskRunning, run.TaskVerifying, run.TaskAccepted, run.TaskLanding, run.TaskLanded},
	}, states)
	require.Equal(t, "tests are weaker: with fee/fee.go:5 in Of: amount > 10 made amount >= 10, TestOf before the patch fails, the new one passes",
		weak.Doubt().Evidence[0])
	require.Equal(t, weak.Doubt().Evidence, weak.Doubt().Kinds, "it tells no kinds")
	require.Equal(t, "local", honest.Tried.By)
	require.Equal(t, 12, s.Proofs.Experiment(honest.Result.Patch).Passed)
	untried, _ := s.Untried()
	require.Empty(t, untried)
	require.Less(t, s.TrialTime().Minutes(), 2.0)
}
