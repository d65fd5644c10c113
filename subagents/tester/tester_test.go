package tester

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/egress"
	"divisi/internal/sandbox"
)

// What loopback opens is offered for the hosts that it opens, and for no other.
func TestASetupIsToldWhatLoopbackOpens(t *testing.T) {
	t.Parallel()
	own := &egress.RefusedError{Host: "127.0.0.1", Why: "an address of this machine"}
	cloud := &egress.RefusedError{Host: "169.254.169.254", Why: "a metadata address"}
	require.Empty(t, unlikeYours(&sandbox.Output{}, nil))
	require.Equal(t, `; its proxy refused ["169.254.169.254"]`, unlikeYours(&sandbox.Output{Refused: []*egress.RefusedError{cloud}}, nil))
	require.Contains(t, unlikeYours(&sandbox.Output{Refused: []*egress.RefusedError{cloud, own}}, nil), `allows ["127.0.0.1"], `)
}
