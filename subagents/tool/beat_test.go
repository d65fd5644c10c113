package tool

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

func TestBeatOutputIsSeldomAndOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		out := BeatOutput(WithBeat(t.Context(), func(note string) { heard = append(heard, note) }))
		out([]byte("one\ntwo \x1b[31mred\x1b[0m\r\n\n"))
		out([]byte("at once\n"))
		<-time.After(beatEvery)
		out([]byte("10%\r99%"))
		<-time.After(beatEvery)
		out(nil)
		require.Equal(t, []string{"two red", "99%", ""}, heard, "an output that says nothing is a sign of life too")
	})
	BeatOutput(context.Background())([]byte("nobody listens"))
}
