package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A cached finding of go vet names the slot that it was found in, of this run or an earlier one.
func TestAFindingIsTheSameInEverySlot(t *testing.T) {
	t.Parallel()
	n := newNormaliser("/home/u/state/runs/r2/slots/slot1")
	want := n.line("graph/check.go:22:2: unreachable code")
	require.NotEmpty(t, want)
	for _, text := range []string{
		"/home/u/state/runs/r2/slots/slot1/graph/check.go:7:1: unreachable code",
		"/home/u/state/runs/r1/slots/slot0/graph/check.go:22:2: unreachable code",
		"../slot0/graph/check.go:22:2: unreachable code",
		"../../../r1/slots/slot3/graph/check.go:22:2: unreachable code",
	} {
		require.Equal(t, want, n.line(text), text)
	}
	other := newNormaliser("/home/u/tree")
	require.NotEqual(t, other.line("x.go: bad"), other.line("/a/slot0/x.go: bad"), "only slots have siblings")
}
