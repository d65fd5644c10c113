package conductor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// redGates counts what a log has of the gates that ran on the tests of a set alone: how often they were dispatched, their receipts
// and their results.
func redGates(log []bus.Message) (dispatches, receipts, results int) {
	for _, m := range log {
		switch text := string(m.Data); {
		case strings.Contains(m.Subject, ".tests--red."):
			receipts += strings.Count(text, `"kind":"receipt"`)
			results += strings.Count(text, `"kind":"result"`)
		case strings.Contains(text, `"dispatch":{"task":"tests--red"`):
			dispatches++
		}
	}
	return dispatches, receipts, results
}

func readLog(t *testing.T, r *rig) (log []bus.Message) {
	t.Helper()
	for m, err := range r.bus.Read(t.Context(), bus.RunFilter("r1"), 0) {
		require.NoError(t, err)
		log = append(log, m)
	}
	return log
}

// Tests fail alone, and pass with the change of their set. Killed anywhere from the red run on, the resumed run ends the same, and
// the red run is neither lost nor made twice.
func TestSlowAKillBetweenTheRedAndTheGreenRunProvesTheTestsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		prover := command("prover", "echo wanted > f00.txt")
		prover.Proves = spec.ProvesRedGreen
		addRoles(s, prover, command("mod", "echo changed > f01.txt"))
		s.Project.Gates[0].Command = []string{
			"sh", "-c", "if grep -q wanted f00.txt && ! grep -q changed f01.txt; then echo 'f00.txt:1: error: f01.txt is old'; exit 1; fi",
		}
		s.Plan = planOf(
			spec.Task{ID: "tests", Role: "prover", Brief: "b", Files: []string{"f00.txt"}, ChangeSet: "pair"},
			spec.Task{ID: "change", Role: "mod", Brief: "b", Files: []string{"f01.txt"}, ChangeSet: "pair"},
		)
	})
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"ok: f00.txt: error: f01.txt is old"}, st.Tasks.ByID["tests"].Red.Failed)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"change", "tests"}, want.tasks)
	log, cuts := readLog(t, r), 0
	for k := 1; k < len(log); k++ {
		dispatched, _, _ := redGates(log[:k])
		if dispatched == 0 || testing.Short() && k%4 != 0 {
			continue
		}
		cuts++
		t.Run(fmt.Sprintf("killed behind %02d %s", k, log[k-1].Subject), func(t *testing.T) {
			t.Parallel()
			f := r.fork(t, log[:k])
			f.goOn(want)
			dispatches, receipts, results := redGates(readLog(t, f))
			require.Equal(t, 1, dispatches)
			require.Equal(t, 1, results)
			require.Equal(t, 1, receipts, "a gate whose receipt is in the log does not run again")
		})
	}
	require.Positive(t, cuts)
}
