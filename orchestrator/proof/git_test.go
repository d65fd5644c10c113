package proof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

func TestGatesWhoseGitFailedAreNamed(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Proofs.Baseline = map[string]spec.Receipt{}
	for name, r := range map[string]spec.Receipt{
		"a": {Tail: "x\nfatal: ambiguous argument 'up/main': unknown revision or path not in the working tree.\n"},
		"b": {Tail: "fatal: x", Verdict: spec.VerdictPass},
		"c": {Tail: "a nonfatal: line"},
		"d": {Signatures: []string{"error: bad revision 'x'"}},
	} {
		r.Gate = name
		s.Proofs.Baseline[name] = r
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.Spec.Project.Gates = append(s.Spec.Project.Gates, spec.Gate{Name: name})
	}
	failed := proof.GitFailures(&s.Spec, &s.Proofs)
	require.Equal(t, []proof.GitFailed{
		{"a", "fatal: ambiguous argument 'up/main': unknown revision or path not in the working tree."}, {"d", "error: bad revision 'x'"},
	}, failed)
	require.Equal(t, "gate d is red on the base commit, where git failed: error: bad revision 'x'; "+
		"docs/checkout.md#git-in-a-tree describes git in a tree", failed[1].String())
}
