package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator/conductor"
)

func TestAConductorThatDoesNotListenYetIsAskedLater(t *testing.T) {
	t.Parallel()
	g := &globals{out: io.Discard, err: io.Discard}
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { g.store().Close(b) })
	_, err = g.askHolder(t.Context(), b, "r1", conductor.Request{Verb: conductor.VerbPause})
	require.ErrorContains(t, err, "try again in a moment")
	require.Equal(t, codeUsage, exitCode(err))
}
