package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// Gates with paths start where the merged chain differs from what it is built on, whatever the patches name: git follows renames.
func TestABatchHasTheGatesThatItsChangesStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed []string
		gates   []string // that a task asks for
		want    []string
	}{
		"one part":        {changed: []string{"a/x"}, want: []string{"all", "a"}},
		"another one":     {changed: []string{"b/x"}, want: []string{"all", "b"}},
		"not known":       {want: []string{"all", "b", "a"}},
		"what none names": {changed: []string{"go.mod"}, want: []string{"all", "b", "a"}},
		"a plan names it": {changed: []string{"a/x"}, gates: []string{"b"}, want: []string{"all", "b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b")
			l.Spec.Project.Gates = []spec.Gate{{Name: "all"}, {Name: "b", Paths: []string{"b/**"}}, {Name: "a", Paths: []string{"a/**"}}}
			for _, g := range l.Spec.GateNames() {
				l.Proofs.Baseline[g] = spec.Receipt{Gate: g, Verdict: spec.VerdictPass}
			}
			l.Tasks.ByID["a"].Task.Gates = c.gates
			merge, ok := landing.Land(l.State)[0].(landing.Merge)
			require.True(t, ok)
			chain := chainOf(merge.Candidates, nil)
			chain.Changed = c.changed
			assign, ok := merge.Then(chain)[0].(run.Assign)
			require.True(t, ok)
			require.Equal(t, c.want, assign.Dispatch.Gates)
		})
	}
}
