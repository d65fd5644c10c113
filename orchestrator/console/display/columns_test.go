package display

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"名前   12  x",
		"ab€     3",
		"a     the last cell of a short row",
		"      123  y",
	}, Columns([][]string{
		{"名前", "12", "x"}, {"a\x1b[31mb€\n", "3", ""}, {"a", "the last cell of a short row"}, {"", "123", "y"},
	}, 2, 1))
	require.Empty(t, Table(nil))
	require.Equal(t, "a\nb\n", Table([][]string{{"a"}, {"b"}}))
}
