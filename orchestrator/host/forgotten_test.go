package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
)

// Nothing conducts the run, so the host reads the files of its head for the task that is to be added.
func TestSlowAHostLooksForForgottenFilesOfARunAtRest(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	require.NoError(t, s.submit())
	s.pause()
	for _, runs := range []client.Runs{client.On(s.at), Hosted{Host: s.host}} {
		r, err := runs.Open(t.Context(), s.last())
		require.NoError(t, err)
		_, err = r.Act(t.Context(), act.Retry{Forgotten: true})
		require.ErrorAs(t, err, new(*usage.Error))
		require.ErrorContains(t, err, "there is nothing to add")
		require.NoError(t, r.Close())
	}
}
