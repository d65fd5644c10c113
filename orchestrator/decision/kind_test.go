package decision

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKindIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/decide.md")
	require.NoError(t, err)
	for _, k := range kinds {
		require.True(t, strings.Contains(string(page), "\n| `"+string(k.name)+"` |"), "docs/decide.md has no row for %s", k.name)
	}
}
