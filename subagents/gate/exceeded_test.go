package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// A gate that was killed for a bound was not ended by a person, and its receipt names the bound.
func TestAGateThatExceedsABound(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]*sandbox.Output{
		"gate: killed because it used too much memory":       {ExitCode: -1, Signal: "killed", OutOfMemory: true},
		"gate: killed because it wrote too much to the disk": {ExitCode: -1, Signal: "killed", OverDisk: &sandbox.Excess{Wrote: 3 << 20, Most: 2 << 20}},
	} {
		g := spec.Gate{Name: "g", Command: []string{"make"}}
		r := spec.Receipt{Gate: "g", Command: g.Command}
		fill(&r, &g, out, newLines(newParser(formatOf(g), newNormaliser("/tmp/fx"), tool{})).close())
		require.Equal(t, []string{want}, r.Signatures)
		require.False(t, r.Killed)
		if out.OverDisk != nil {
			require.Equal(t, "[killed: "+out.Exceeded()+"]", r.Tail)
		}
		require.Equal(t, "make was killed: "+out.Exceeded(), HowEnded(g.Command, out))
	}
}
