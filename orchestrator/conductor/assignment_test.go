package conductor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// TestWhatAnAttemptWasGivenCanBeLookedUpLater reads every assignment of a run after its end.
func TestWhatAnAttemptWasGivenCanBeLookedUpLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		judge := s.Roles[spec.RoleTester]
		judge.Executor, judge.Instruction = spec.ExecutorModel, "Judge."
		s.Roles[spec.RoleTester] = judge
		s.Plan = planOf(spec.Task{ID: "t1", Role: "generator", Brief: "do it", Files: []string{"f00.txt"}})
	})
	var given seen
	stop := r.hands(t.Context(), func(a *wire.Assignment) spec.Result {
		given.add(a)
		out := r.passes(a)
		switch {
		case a.Task.ID == "t1":
			out.Patch = r.patch(a.Head, "f00.txt", fmt.Sprintf("try-%d", a.Attempt))
			out.Handoff.Summary = fmt.Sprintf("tried %d", a.Attempt)
		case strings.HasPrefix(a.Task.ID, "t1--") && a.Attempt == 1:
			out.Status, out.Error = spec.StatusFailed, &spec.Fault{Class: "verdict", Message: "not so"}
		}
		return out
	})
	defer stop()
	st, err := r.conduct(t.Context(), r.config())
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Len(t, given.all["t1--verify"], 2)
	for id, list := range given.all {
		for _, was := range list {
			a, err := assign.Read(t.Context(), st.Works, r.bus, id, was.Attempt)
			require.NoError(t, err)
			want, err := json.Marshal(was)
			require.NoError(t, err)
			got, err := json.Marshal(a)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), "%s/%d", id, was.Attempt)
		}
	}
}
