package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/proof"
)

// What makes derived files again is a field of its own, and no gate to write down.
func TestLeaveOut(t *testing.T) {
	t.Parallel()
	all := []spec.Gate{{Name: spec.RegenerateGate, Command: []string{"make"}}, {Name: "lint", Command: []string{"lint"}}}
	lint := []proof.Incomparable{{Gate: "lint"}}
	require.Equal(t, "write another gate in its place in .divisi/divisi.yaml", leaveOut(all, lint))
	words := leaveOut(append(all, spec.Gate{Name: "test", Command: []string{"test"}}), lint)
	require.Contains(t, words, "name: test")
	require.NotContains(t, words, spec.RegenerateGate)
}
