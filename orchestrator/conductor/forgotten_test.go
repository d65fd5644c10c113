package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// A caller was forgotten, and a person adds a task for it. Killed anywhere from there on, the resumed run lands both, and neither
// adds a second task nor runs again what was handed in.
func TestSlowAKillWhileAForgottenCallerIsAdded(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"a.txt": "declare old\n", "b.txt": "call old\n"}, func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "sed -i s/old/new/ $DIVISI_FILES")
		s.Project.Gates[0].Command = []string{
			"sh", "-c", `if grep -q new a.txt && grep -q old b.txt; then echo "b.txt:1:1: error: old is gone"; exit 1; fi`,
		}
		s.Plan = planOf(spec.Task{ID: "declare", Role: "mod", Brief: "b", Files: []string{"a.txt"}, Attempts: 1})
	})
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, st.Reason)
	_, err = r.do(act.Retry{Forgotten: true})
	require.NoError(t, err)
	stop = r.worker(t.Context())
	st, err = r.conduct(t.Context(), r.quietly())
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Done, st.Status, st.Reason)
	want := r.outcome(st.Head)
	require.Equal(t, []string{"declare", "forgotten"}, want.tasks)
	r.killedAnywhere(t, readLog(t, r), `"forgotten":true`, want, func(t *testing.T, f *rig) {
		st, err := f.fold(t.Context())
		require.NoError(t, err)
		require.Len(t, st.Tasks.Order, 2)
		require.Equal(t, 1, st.Tasks.ByID["declare"].Attempt)
	})
}
