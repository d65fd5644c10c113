package contextscope

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// log builds a session; each event is numbered from 1.
type log struct {
	agent  string
	events []Event
}

func (l *log) add(kind Kind, author, role string, parts ...*genai.Part) *log {
	n := len(l.events) + 1
	l.events = append(l.events, Event{
		V: EventVersion, ID: "e" + strconv.Itoa(n), Seq: n, Agent: l.agent, Kind: kind, Author: author,
		Content: &genai.Content{Role: role, Parts: parts},
	})
	return l
}

func (l *log) turn(parts ...*genai.Part) *log {
	return l.add(KindTurn, l.agent, genai.RoleModel, parts...)
}

func (l *log) tool(parts ...*genai.Part) *log {
	return l.add(KindTool, l.agent, genai.RoleUser, parts...)
}
func (l *log) user(text string) *log  { return l.add(KindUser, "user", genai.RoleUser, say(text)) }
func (l *log) steer(text string) *log { return l.add(KindSteering, "user", genai.RoleUser, say(text)) }

func (l *log) nudge(text string) *log {
	return l.add(KindControl, "conductor", genai.RoleUser, say(text))
}

func (l *log) brief(text string) *log {
	return l.add(KindBrief, "conductor", genai.RoleUser, say(text))
}

func say(text string) *genai.Part { return &genai.Part{Text: text} }
func think(text string) *genai.Part {
	return &genai.Part{Text: text, Thought: true, ThoughtSignature: []byte("s")}
}

func call(id, name string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: map[string]any{"n": id}}}
}

func result(id, name, value string) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: map[string]any{"output": value}}}
}

func ids(events []Event) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

func TestSessionViews(t *testing.T) {
	t.Parallel()
	l := &log{agent: "plan/1"}
	l.brief("goal").turn(call("a", "survey")).tool(result("a", "survey", "x")).turn(call("d1", "dispatch")).
		tool(result("d1", "dispatch", "ok")).user("news").nudge("hurry").turn(say("hm"), call("d2", "dispatch"))
	s := Session(l.events)

	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7"}, ids(s.Before("dispatch")), "the newest dispatch cuts")
	require.Equal(t, []string{"e1", "e2", "e3"}, ids(s.BeforeCall("d1")))
	require.Equal(t, ids(s), ids(s.BeforeCall("zz")), "a call that is not there cuts nothing")
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7"}, ids(s.Closed()), "the open turn goes")
	require.Equal(t, []string{"e1", "e2", "e3", "e4", "e5", "e6", "e8"}, ids(s.Spoken()), "the runtime's nudges are not spoken")
	require.Equal(t, []string{"e6", "e7", "e8"}, ids(s.Last(1)), "a turn comes with what led to it")
	require.Equal(t, []string{"e4", "e5", "e6", "e7", "e8"}, ids(s.Last(2)))
	require.Equal(t, ids(s), ids(s.Last(3)), "the first turn comes with the brief")
	require.Equal(t, ids(s), ids(s.Last(0)))
	require.Empty(t, Session(nil).Closed().Last(1).Before("x").Spoken())
}

func TestSessionClosedPassesOverAbandonedCalls(t *testing.T) {
	t.Parallel()
	l := &log{agent: "a/1"}
	l.turn(call("lost", "run")).turn(call("b", "run"), call("b", "run")).tool(result("b", "run", "1"))
	require.Equal(t, []string{"e1"}, ids(Session(l.events).Closed()), "two calls need two results")
	l.tool(result("b", "run", "2")).turn(say("done"))
	require.Len(t, Session(l.events).Closed(), 5, "a lost call does not freeze the session")
}
