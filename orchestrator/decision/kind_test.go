package decision

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKindIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/decide.md")
	require.NoError(t, err)
	for _, k := range kinds {
		require.Contains(t, string(page), "\n| `"+string(k.name)+"` |", "docs/decide.md has no row for %s", k.name)
	}
}
