package subagents

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestAgentStopsAtABoundaryAndGoesOnLater(t *testing.T) {
	t.Parallel()
	m := newMemory()
	s := &script{steps: []step{callsTool("read", map[string]any{"text": "a"}), submits("ok")}}
	a := testAgent(t, m, s, echo("read", true))
	a.Inbox = NewInbox(func(error) {})
	s.each = func(int) { a.Inbox.Put(wire.Control{Verb: wire.ControlStop}) }
	_, err := a.Run(t.Context())
	require.ErrorIs(t, err, ErrStopped)
	require.Equal(t, "brief turn usage tool control", kinds(a.Journal.Events()))

	s.each = nil
	again := testAgent(t, m, s, echo("read", true))
	r, err := again.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, map[int]int{0: 1, 1: 1}, s.answered)
}

func TestAgentGivesNoResultWhenItsWorkerStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &script{steps: []step{{hang: true}}, each: func(int) { cancel(errShutdown) }}
	a := testAgent(t, newMemory(), s)
	_, err := a.Run(ctx)
	require.ErrorIs(t, err, errShutdown)
	require.Equal(t, "brief", kinds(a.Journal.Events()))
}

func TestAgentIsFencedByANewerDelivery(t *testing.T) {
	t.Parallel()
	m := newMemory()
	s := &script{steps: []step{submits("ok")}}
	a := testAgent(t, m, s)
	s.each = func(int) {
		newer := openTest(t, m)
		_, err := newer.Append(t.Context(), draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
		require.NoError(t, err)
	}
	_, err := a.Run(t.Context())
	require.ErrorIs(t, err, bus.ErrFenced)
	require.Equal(t, "brief started", kinds(openTest(t, m).Events()))
}

// TestAgentResumesAtEveryAppend lets the bus fail after each number of appends and runs the attempt again: the result is the
// same, and no answer that was stored is paid for again.
func TestAgentResumesAtEveryAppend(t *testing.T) {
	t.Parallel()
	steps := []step{
		callsTool("read", map[string]any{"text": "a"}),
		{err: &model.Error{Class: model.Truncated, Message: "cut"}},
		callsTool("write", map[string]any{"text": "a.go"}),
		says("done"),
		callsTool("write", map[string]any{"text": strings.Repeat("long", maxPart/4+1)}),
		submits("all of it"),
	}
	run := func(t *testing.T, m *store, s *script) (spec.Result, *Agent, error) {
		t.Helper()
		tree := &fakeTree{}
		write := &probe{"write", false, func(_ context.Context, c tool.Call) tool.Result {
			text := fmt.Sprint(c.Args["text"])
			tree.files = []string{text[:4], fmt.Sprint(len(text))}
			return tool.Text("written")
		}}
		a := testAgent(t, m, s, echo("read", true), write)
		a.Tree = tree
		saved, err := restore(a.Journal.Events())
		require.NoError(t, err)
		if saved.tree != nil {
			tree.files = saved.tree.Files
		}
		r, err := a.Run(t.Context())
		return r, a, err
	}
	whole := newMemory()
	want, wantAgent, err := run(t, whole, &script{steps: steps})
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, want.Status)
	for k := range len(whole.messages) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			m, s := newMemory(), &script{steps: steps}
			m.setFailAfter(k)
			_, _, err := run(t, m, s)
			require.ErrorIs(t, err, errDown)
			before := len(m.messages)
			require.Equal(t, k, before)
			m.setFailAfter(-1)
			got, agent, err := run(t, m, s)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, kinds(wantAgent.Journal.Events()), kinds(agent.Journal.Events()))
			turn := 0
			for _, e := range agent.Journal.Events() {
				if e.Kind == contextscope.KindTurn && e.Pos <= uint64(k) {
					require.Equal(t, 1, s.answered[turn], "turn %d was stored and is not asked for again", turn)
				}
				if e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindError {
					turn++
				}
			}
			usage, err := agent.Journal.Usage()
			require.NoError(t, err)
			wantUsage, err := wantAgent.Journal.Usage()
			require.NoError(t, err)
			require.Equal(t, wantUsage, usage)
		})
	}
}

func TestAgentEndsWithItsSubmissionEvenWhenTheResultWasNotStored(t *testing.T) {
	t.Parallel()
	m, s := newMemory(), &script{steps: []step{submits("kept")}}
	_, err := testAgent(t, m, s).Run(t.Context())
	require.NoError(t, err)
	r, err := testAgent(t, m, s).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kept", r.Handoff.Summary)
	require.Len(t, s.requests(), 1)
}
