package conductor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
)

// What a gate needs is away for batches, and without their patches too: a batch waits for two minutes in all, and is then judged.
func TestABatchWaitsForAnOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) { addRoles(s, command("mod", "echo changed > f00.txt")) })
	r.spec.Project.Gates[0].Command = []string{
		"sh", "-c", "case $DIVISI_TASK in --batch-1|--head) echo 'error: index.invalid: connection refused'; exit 1; esac",
	}
	r.spec.Plan = planOf(spec.Task{ID: "a", Role: "mod", Brief: "b", Files: []string{"f00.txt"}, Attempts: 1})
	cfg := r.config()
	cfg.Patience = conductor.Patience{Outage: time.Millisecond}
	stop := r.worker(t.Context())
	st, err := r.conduct(t.Context(), cfg)
	stop()
	require.NoError(t, err)
	require.Equal(t, run.Parked, st.Status, st.Reason)
	require.NotNil(t, st.Works[run.HeadTask])
	require.Equal(t, 3, st.Works[run.HeadTask].Last)
	require.Equal(t, 4, st.Works["--batch-1"].Last)
	for _, wait := range []string{"30s", "1m0s", "30s"} {
		require.Contains(t, st.Notices, "gate ok is red without batch 1 too, on a commit that it had passed: index.invalid: "+
			"connection refused. The batch waits "+wait+" for a service of the gate, and is tested again")
	}
}
