package agent

import (
	"context"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"

	"github.com/stretchr/testify/require"
)

func TestAModelIsToldOnceOfWhatStillMatches(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		left      []string
		remaining string
		steps     int
		want      string
	}{
		"refused once": {left: []string{"a.go:3", "a.go:7"}, steps: 2, want: "a.go:7"},
		"allowed":      {left: []string{"a.go:3"}, remaining: spec.RemainingOK, steps: 1, want: "a.go:3"},
		"nothing left": {steps: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok"), modeltest.Submits("ok")}}
			a := testAgent(t, journaltest.New(), s)
			a.Tree, a.Assignment.Task.Remaining = &fakeTree{files: []string{"a.go"}}, tt.remaining
			a.Remaining = func(context.Context) ([]string, error) { return tt.left, nil }
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status)
			require.Len(t, s.Sent(), tt.steps)
			if tt.want == "" {
				require.Empty(t, r.Handoff.Deviations)
				return
			}
			require.Len(t, r.Handoff.Deviations, 1)
			require.Contains(t, r.Handoff.Deviations[0], tt.want)
			if tt.steps == 2 {
				require.Contains(t, lastResponse(s.Sent()[1])["error"], "a.go:7")
				again, err := restore(a.Journal.Events())
				require.NoError(t, err)
				require.True(t, again.remained, "another delivery knows")
			}
		})
	}
}
