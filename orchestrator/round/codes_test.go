package round

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestCodes(t *testing.T) {
	t.Parallel()
	r := spec.Receipt{Signatures: []string{
		"a.py: `os` imported but unused (F401)", "b.py: F401 `os` imported but unused", "x/c.go: missing whitespace (invalid) (wsl_v5)",
		"N:N error Unexpected var no-var in lib/x.js", "src/a.ts: error TS2339: Property x", "it is broken", "d.py: error: Wrong type [operator]",
	}, Counts: map[string]int{"N:N error Unexpected var no-var in lib/x.js": 4}}
	slices.Sort(r.Signatures)
	require.Equal(t, []Code{{"no-var", 4}, {"F401", 2}, {"TS2339", 1}, {"operator", 1}, {"other", 1}, {"wsl_v5", 1}}, Codes(r))
	require.Empty(t, Codes(spec.Receipt{}))
}
