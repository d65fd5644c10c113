package wire

import (
	"math"
	"testing"

	"divisi/bus"
	"divisi/contextscope"

	"github.com/stretchr/testify/require"
)

func TestOwner(t *testing.T) {
	t.Parallel()
	began := func(worker string, delivery int) contextscope.Event {
		e := Draft(contextscope.KindStarted, Started{Delivery: delivery})
		e.Agent, e.Worker = "t/1", worker
		return e
	}
	wrote := func(worker string) contextscope.Event {
		return contextscope.Event{Agent: "t/1", Worker: worker, Kind: contextscope.KindTurn}
	}
	var o Owner
	for _, step := range []struct {
		e   contextscope.Event
		why string
	}{
		{e: began("a", 1)},
		{e: wrote("a")},
		{wrote("b"), "worker b wrote it, and the attempt is with worker a"},
		{began("b", 1), "worker b begins delivery 1 of it, and the newest is 1"},
		{began("b", 0), "worker b begins delivery 0 of it, and the newest is 1"},
		{began("b", -3), "worker b begins delivery -3 of it, and the newest is 1"},
		{began("b", math.MaxInt), "worker b begins delivery 9223372036854775807 of it, and the newest is 1"},
		{e: wrote("a")},
		{e: began("b", 2)},
		{e: wrote("b")},
		{wrote("a"), "worker a wrote it, and the attempt is with worker b"},
		{began("a", 2), "worker a begins delivery 2 of it, and the newest is 2"},
		{e: contextscope.Event{Kind: contextscope.KindRun}},
		{e: wrote("b")},
		{e: began("b", 5)},
	} {
		err := o.Admit(&step.e)
		if step.why == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, step.why)
	}
	require.Equal(t, Owner{"b", 5}, o)
}

func TestDisownedEventKeepsItsPlace(t *testing.T) {
	t.Parallel()
	data := `[{"v":4,"id":"e1","kind":"result","seq":4,"data":{"task":"t","attempt":2,"delivery":1,"status":"done"}}]`
	m := bus.Message{Subject: bus.AttemptSubject("r", "b", "reader", "t", 2), Pos: 7, Data: []byte(data)}
	e := DecodeEvents(m)[0]
	gone := Disown(&e, (&Owner{"a", 1}).Admit(&e))
	require.Equal(t, "event at 7 does not count: worker b wrote it, and the attempt is with worker a (result e1 of t/2)", reasonOf(t, gone))
	require.Equal(t, []any{"r", "b", "reader", "t/2", uint64(7)}, []any{gone.Run, gone.Worker, gone.Role, gone.Agent, gone.Pos})
}
