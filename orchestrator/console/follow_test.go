package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// states are the events of a run that comes to the states in order, at the positions 1, 2, …; then err, if any.
func states(t *testing.T, err error, list ...run.Status) iter.Seq2[json.RawMessage, error] {
	t.Helper()
	return func(yield func(json.RawMessage, error) bool) {
		for i, s := range list {
			e := event(contextscope.KindRun, "", run.Data{State: s})
			e.Pos = uint64(i + 1)
			line, jerr := spec.JSON(&e)
			require.NoError(t, jerr)
			if !yield(line, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func TestFollowShowsEventsToTheirEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out, JSON: true})
	require.NoError(t, Follow(states(t, nil, run.Running, run.Stopped, run.Running, run.Done), c))
	require.NoError(t, c.Close())
	require.Equal(t, 4, bytes.Count(out.Bytes(), []byte("\n")))
	require.Contains(t, out.String(), `"pos":4`)
	require.Equal(t, run.Done, c.view.Status)
	want := ""
	for line, err := range states(t, nil, run.Running, run.Stopped, run.Running, run.Done) {
		require.NoError(t, err)
		want += string(line) + "\n"
	}
	require.Equal(t, want, out.String(), "an event is shown as it was yielded")
}

func TestFollowReturnsErrors(t *testing.T) {
	t.Parallel()
	gone := errors.New("the store is gone")
	c := New(Options{Out: io.Discard})
	require.ErrorIs(t, Follow(states(t, gone, run.Running), c), gone)
	require.NoError(t, c.Close())

	c = New(Options{Out: io.Discard})
	require.ErrorContains(t, Follow(func(yield func(json.RawMessage, error) bool) { yield(json.RawMessage("{"), nil) }, c), "JSON")
	require.NoError(t, c.Close())

	c = New(Options{Out: &brokenWriter{}})
	require.ErrorIs(t, Follow(states(t, nil, run.Running), c), io.ErrClosedPipe)
	require.Error(t, c.Close())
}
