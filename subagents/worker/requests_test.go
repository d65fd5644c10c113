package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"
)

// conducted appends events of the conductor.
func (s *site) conducted(events ...contextscope.Event) {
	s.t.Helper()
	for _, e := range events {
		e.V, e.Run = contextscope.EventVersion, "r1"
		data, err := wire.EncodeEvents([]contextscope.Event{e})
		require.NoError(s.t, err)
		subject := bus.ConductorSubject("r1", string(e.Kind))
		last := uint64(0)
		m, err := s.bus.Last(s.t.Context(), bus.ConductorFilter("r1"))
		require.NoError(s.t, err)
		if m != nil {
			last = m.Pos
		}
		_, err = s.bus.AppendFiltered(s.t.Context(), subject, bus.ConductorFilter("r1"), data, last)
		require.NoError(s.t, err)
	}
}

func (s *site) answers(a wire.Answer) {
	s.t.Helper()
	e := wire.Draft(contextscope.KindAnswer, a)
	e.ID, e.Author = "answer-"+a.Request, "conductor"
	s.conducted(e)
}

// asker opens the journal of an attempt and its requests, as a delivery does.
func (s *site) asker() (*toolset.Requests, *journal.Journal) {
	s.t.Helper()
	a := s.assignment(writer, "t1")
	n := 0
	j, err := journal.Open(s.t.Context(), s.bus, s.bus, a, journal.Stamp{Worker: "local", Clock: time.Now, IDs: func() string { n++; return string(rune('a' + n)) }})
	require.NoError(s.t, err)
	r, err := toolset.OpenRequests(s.t.Context(), s.bus, j, a)
	require.NoError(s.t, err)
	return r, j
}

func TestARequestIsAppendedOnceAndAnsweredFromTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, j := s.asker()
	const call = "delegate-1-0"
	ask := wire.Request{Kind: wire.RequestDelegate, Role: "reader"}
	stopped := errors.New("the worker stops")
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := first.Request(ctx, call, ask)
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(j.Events()) == 1 }, time.Minute, time.Millisecond)
	stop(stopped)
	require.ErrorIs(t, chantest.Next(t, ended), stopped)

	// Answers to others, and one to this request, while no call waits.
	s.answers(wire.Answer{Request: "t1/1/delegate-2-0", Refused: "no"})
	s.answers(wire.Answer{Request: "t1/1/delegate-1-0", Usage: spec.Usage{Prompt: 7}, Granted: []string{"x.go"}})
	second, j := s.asker()
	for range 2 {
		a, err := second.Request(t.Context(), call, ask)
		require.NoError(t, err)
		require.Equal(t, "t1/1/delegate-1-0", a.Request)
	}
	require.Len(t, j.Events(), 1, "it was asked once")
	require.Equal(t, 7, second.Delegated().Total(), "it was booked once")
	require.Empty(t, second.Scope(spec.WriteSet{Files: []string{"y.go"}}).Refuse("x.go"), "what was granted holds for this delivery too")
	require.NotEmpty(t, first.Scope(spec.WriteSet{Files: []string{"y.go"}}).Refuse("x.go"))
}

// fenced is what a delivery that was replaced gets for its request.
func TestARequestOfADeliveryThatWasReplacedIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old, _ := s.asker()
	_, j := s.asker()
	_, err := j.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
	require.NoError(t, err)
	_, err = old.Request(t.Context(), "ask-1-0", wire.Request{Kind: wire.RequestAsk})
	require.ErrorIs(t, err, bus.ErrFenced)
}

func TestASeatIsGivenBackWhileAnAgentWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{}, 1)
		one, two := &permit{room: room}, &permit{room: room}
		require.True(t, one.take(t.Context()))
		goOn, back := one.rest(t.Context()), false
		require.True(t, two.take(t.Context()), "there is room while the first waits")
		go func() { goOn(); back = true }()
		synctest.Wait()
		require.False(t, back, "it goes on when there is room")
		two.leave()
		synctest.Wait()
		require.True(t, back && one.taken)
		ctx, cancel := context.WithCancel(t.Context())
		goOn = one.rest(ctx)
		require.True(t, two.take(t.Context()))
		cancel()
		goOn()
		require.False(t, one.taken, "it ended before there was room")
		one.leave()
		two.leave()
		require.Empty(t, room)
	})
}

func TestAnInboxBeginsWithTheMessagesOfItsTaskEachOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	message := func(id, task, author, text string) contextscope.Event {
		return contextscope.Event{
			ID: id, Task: task, Kind: contextscope.KindUser, Author: author, Content: genai.NewContentFromText(text, genai.RoleUser),
		}
	}
	s.conducted(message("m1", "t1", wire.Person("ada"), "first"), message("m2", "t2", wire.Person("ada"), "another's"),
		message("m3", "t1", "master/2", "second"))
	w := s.work(nil, "generator")
	in := agent.NewInbox(func(error) {})
	a := s.assignment(writer, "t1")
	leave, err := w.router.open(t.Context(), s.bus, a, in)
	require.NoError(t, err)
	defer leave()
	in.Put(wire.Control{ID: "m1", Verb: wire.ControlSteer, Text: "first"})
	var texts []string
	for _, c := range in.Take() {
		texts = append(texts, c.Text)
	}
	require.Equal(t, []string{"first", "Message of master/2:\nsecond"}, texts)

	in = agent.NewInbox(func(error) {})
	a.From = 2
	leave, err = w.router.open(t.Context(), s.bus, a, in)
	require.NoError(t, err)
	defer leave()
	require.Len(t, in.Take(), 1, "a master was told the others when it woke")
}
