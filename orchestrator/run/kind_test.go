package run

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

func TestEveryKindOfTheConductorIsFoldedAndDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/log.md")
	require.NoError(t, err)
	for _, kind := range contextscope.OfConductor {
		require.Contains(t, payloads, kind)
		require.Contains(t, string(page), "\n| `"+string(kind)+"` |", "docs/log.md has no row for %s", kind)
	}
	require.Len(t, payloads, len(contextscope.OfConductor))
	require.Panics(t, func() { Append{Data: "text"}.Kind() })
}
