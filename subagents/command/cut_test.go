package command_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/command"
	"divisi/subagents/wire"
)

// Calls that began and have no end are paid with what they reserved, once.
func TestCallsThatWereCutArePaid(t *testing.T) {
	t.Parallel()
	reserved := &spec.Usage{Calls: 1, Prompt: 10, Output: 90}
	var log []contextscope.Event
	add := func(s wire.Spent) {
		data, err := json.Marshal(s)
		require.NoError(t, err)
		log = append(log, contextscope.Event{Kind: contextscope.KindUsage, Data: data})
	}
	add(wire.Spent{Call: "a", Model: "x", Reserved: reserved})
	add(wire.Spent{Call: "b", Model: "y", Price: "y@1", Reserved: reserved})
	add(wire.Spent{Usage: spec.Usage{Calls: 1}, Model: "printed"})
	add(wire.Spent{Call: "c", Reserved: reserved})
	add(wire.Spent{Call: "a", Usage: spec.Usage{Calls: 1, Prompt: 3}})
	add(wire.Spent{Call: "c"}) // no model answered it
	cut, err := command.Cut(log)
	require.NoError(t, err)
	require.Equal(t, []wire.Spent{{Call: "b", Model: "y", Price: "y@1", Usage: *reserved, Estimated: true}}, cut)
	add(cut[0])
	cut, err = command.Cut(log)
	require.NoError(t, err)
	require.Empty(t, cut)
}
