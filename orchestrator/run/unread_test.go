package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/subagents/wire"
)

// TestUnreadableEventsOfAWorkerAreNotedSoOften: the state of a run does not grow with what one worker appends.
func TestUnreadableEventsOfAWorkerAreNotedSoOften(t *testing.T) {
	t.Parallel()
	s := NewState()
	take := func(subject string) {
		for _, e := range wire.DecodeEvents(bus.Message{Subject: subject, Pos: s.Pos + 1, Data: []byte("x")}) {
			require.NoError(t, s.Apply(&e))
		}
	}
	for range 10 * maxUnread {
		take("ev.r.a.liar.generator.t.1")
	}
	require.Len(t, s.Notices, maxUnread+1)
	require.Equal(t, "more than 100 events of worker liar cannot be read: the others are not named", s.Notices[maxUnread])
	take("ev.r.a.w1.generator.t.1")
	take("ev.r.m.run")
	require.Len(t, s.Notices, maxUnread+3, "others are noted")
	require.Len(t, s.Unread, 1)
}

// TestAnEventThatNamesManyAttemptsIsOfNone: a store of before, or a cluster, may have one.
func TestAnEventThatNamesManyAttemptsIsOfNone(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"ev.r.a.w.generator.*.1", "ev.r.a.*.generator.t.1", "ev.r.a.w.generator.t.>", "ev.r.a.w.generator.t.0",
		"ev.r.a.w.generator.t.01", "ev.r.a.w.generator.t.x", "ev.r.a.w..t.1",
	} {
		s, data := NewState(), []byte(`[{"kind":"started","data":{"delivery":1}}]`)
		for _, e := range wire.DecodeEvents(bus.Message{Subject: subject, Pos: 1, Data: data}) {
			require.NoError(t, s.Apply(&e))
		}
		require.Len(t, s.Notices, 1, subject)
		require.Contains(t, s.Notices[0], "its subject is none that a run has", subject)
	}
}
