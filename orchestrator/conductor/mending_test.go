package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Two tasks mend a red gate, one after the other. Killed anywhere from the first batch on, the resumed run ends the same, and the
// first of them reports that it did not prove all.
func TestSlowAKillWhileAGateIsMended(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"f00.txt": "bad\n", "f01.txt": "bad\n", "f02.txt": "old\n"}, func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo good > $DIVISI_FILES")
		s.Project.Gates = []spec.Gate{{Name: "lint", Format: "findings", Command: []string{
			"sh", "-c", `grep -n bad *.txt | sed 's/:bad/: error: a bad word/'; ! grep -q bad *.txt`,
		}}}
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}, Mends: []string{"lint"}},
			spec.Task{ID: "two", Role: "mod", Brief: "b", Files: []string{"f01.txt"}, Mends: []string{"lint"}, DependsOn: []string{"one"}},
			spec.Task{ID: "three", Role: "mod", Brief: "b", Files: []string{"f02.txt"}, DependsOn: []string{"two"}},
		)
	})
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	better := func(t *testing.T, r *rig, st *run.State) {
		t.Helper()
		require.Equal(t, "gate lint has 1 failure, 2 before", st.Tasks.ByID["one"].Landed.Better)
		require.Empty(t, st.Tasks.ByID["two"].Landed.Better)
		log, err := r.mirror.Trailers(t.Context(), r.spec.Base, st.Head)
		require.NoError(t, err)
		n := 0
		for _, l := range log {
			n += len(l.Trailers["Divisi-Better"])
		}
		require.Equal(t, 1, n)
	}
	better(t, r, st)
	r.killedAnywhere(t, readLog(t, r), `"state":"testing"`, r.outcome(st.Head), func(t *testing.T, f *rig) {
		st, err := f.fold(t.Context())
		require.NoError(t, err)
		better(t, f, st)
	})
}
