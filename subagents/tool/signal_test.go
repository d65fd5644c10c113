package tool

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBeat(t *testing.T) {
	t.Parallel()
	Beat(t.Context(), "nobody listens")
	var heard []string
	ctx := WithBeat(t.Context(), func(note string) { heard = append(heard, note) })
	Beat(ctx, "half\nway\x1b "+strings.Repeat("x", 500))
	require.Len(t, heard, 1)
	require.True(t, strings.HasPrefix(heard[0], "half way x"), heard[0])
	require.Len(t, []rune(heard[0]), 120)
}
