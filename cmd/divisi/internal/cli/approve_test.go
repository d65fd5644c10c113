package cli

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnInterruptedQuestionTellsWhatWasNotDone(t *testing.T) {
	t.Parallel()
	in, hand := io.Pipe()
	defer hand.Close() // ends the read
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	g := &Globals{In: in}
	var end *EndError
	require.ErrorAs(t, g.Confirm(ctx, &out, "Run it?", "nothing was run"), &end)
	require.Equal(t, &EndError{Code: CodeStopped, Text: "nothing was run"}, end)
	require.Equal(t, "Run it? [y/N] ", out.String())
	require.ErrorIs(t, g.Confirm(ctx, &out, "Is that so?", ""), context.Canceled)
}
