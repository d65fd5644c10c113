package phase

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// A run that compares ends after it has, and only where something has landed.
func TestTheEndComparesWithTheShell(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Status, s.Spec.Base, s.Head, s.Spec.Twin = run.Final, "base", "head", true
	require.Equal(t, []run.Action{run.ProveTwin{}}, Finish(s, "tree"))
	s.Twin = &run.Twin{}
	require.IsType(t, run.End{}, Finish(s, "tree")[0])
	s.Twin, s.Head = nil, "base"
	require.IsType(t, run.End{}, Finish(s, "tree")[0])
}
