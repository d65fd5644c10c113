package contextscope_test

import (
	"testing"

	"divisi/contextscope"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
)

func TestSessionViews(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "plan/1"}
	l.Brief("goal").Turn(sessiontest.Call("a", "survey")).Tool(sessiontest.Result("a", "survey", "x")).Turn(sessiontest.Call("d1", "dispatch")).
		Tool(sessiontest.Result("d1", "dispatch", "ok")).User("news").Nudge("hurry").Turn(sessiontest.Say("hm"), sessiontest.Call("d2", "dispatch"))
	s := contextscope.Session(l.Events)

	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7"}, sessiontest.IDs(s.Before("dispatch")), "the newest dispatch cuts")
	require.Equal(t, []string{"e1", "e2", "e3"}, sessiontest.IDs(s.BeforeCall("d1")))
	require.Equal(t, sessiontest.IDs(s), sessiontest.IDs(s.BeforeCall("zz")), "a call that is not there cuts nothing")
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7"}, sessiontest.IDs(s.Closed()), "the open turn goes")
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e8"}, sessiontest.IDs(s.Spoken()), "the runtime's nudges are not spoken")
	require.Equal(t, []string{"e6", "e7", "e8"}, sessiontest.IDs(s.Last(1)), "a turn comes with what led to it")
	require.Equal(t, []string{"e4", "e5", "e6", "e7", "e8"}, sessiontest.IDs(s.Last(2)))
	require.Equal(t, sessiontest.IDs(s), sessiontest.IDs(s.Last(3)), "the first turn comes with the brief")
	require.Equal(t, sessiontest.IDs(s), sessiontest.IDs(s.Last(0)))
	require.Empty(t, contextscope.Session(nil).Closed().Last(1).Before("x").Spoken())
}

func TestSessionClosedPassesOverAbandonedCalls(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "a/1"}
	l.Turn(sessiontest.Call("lost", "run")).Turn(sessiontest.Call("b", "run"), sessiontest.Call("b", "run")).Tool(sessiontest.Result("b", "run", "1"))
	require.Equal(t, []string{"e1"}, sessiontest.IDs(contextscope.Session(l.Events).Closed()), "two calls need two results")
	l.Tool(sessiontest.Result("b", "run", "2")).Turn(sessiontest.Say("done"))
	require.Len(t, contextscope.Session(l.Events).Closed(), 5, "a lost call does not freeze the session")
}
