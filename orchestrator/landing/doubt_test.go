package landing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// What is not listed is counted: no edit hides behind others.
func TestTheDoubtAboutUnlikeEditsCountsAll(t *testing.T) {
	t.Parallel()
	var edits []run.Unlike
	for i := range 9 {
		edits = append(edits, run.Unlike{File: "a.go", Line: i + 1, Was: fmt.Sprint("n = ", i)})
	}
	d := landing.Unlike(edits)
	require.Len(t, d.Unlike, 5)
	require.Equal(t, "a.go:1: `n = 0` is gone", d.Evidence[0])
	require.Equal(t, "and 4 more", d.Evidence[len(d.Evidence)-1])
	require.Len(t, landing.Unlike(edits[:2]).Evidence, 2)
}
