package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	s := &sessions{clock: func() time.Time { return at }}
	ana := Visitor{Name: "ana", Writes: true}
	once := s.link(ana, 10*time.Minute)
	browser, admitted := s.admit(once)
	require.True(t, admitted)
	_, admitted = s.admit(once)
	require.False(t, admitted, "a link admits one browser")
	who, known := s.who(browser)
	require.True(t, known)
	require.Equal(t, ana, who)
	_, known = s.who(once)
	require.False(t, known, "a link is no session")

	late := s.link(ana, 10*time.Minute)
	at = at.Add(10 * time.Minute)
	_, admitted = s.admit(late)
	require.False(t, admitted, "it has ended")
	at = at.Add(sessionLife)
	_, known = s.who(browser)
	require.False(t, known, "a session ends")

	stands := s.link(ana, 0)
	for range 2 {
		browser, admitted = s.admit(stands)
		require.True(t, admitted)
	}
	at = at.Add(1000 * sessionLife)
	_, known = s.who(browser)
	require.True(t, known, "what stands does not end")
	s.end("ana")
	_, known = s.who(browser)
	require.False(t, known)
	_, admitted = s.admit(stands)
	require.False(t, admitted)
	for range 3 * maxSessions {
		s.link(ana, time.Hour)
	}
	require.Len(t, s.links, maxSessions)
	_, admitted = s.admit("")
	require.False(t, admitted)
}
