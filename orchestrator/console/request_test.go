package console

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
	"divisi/subagents/wire"
)

func eventOf(t *testing.T, kind contextscope.Kind, agent string, data any) *contextscope.Event {
	t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(t, err)
	return &contextscope.Event{Run: "r1", Task: "one", Attempt: 1, Agent: agent, Kind: kind, Author: "user", Data: raw}
}

// told are the lines of an event.
func told(e *contextscope.Event, decide string) (out []line) {
	for _, l := range feed.Lines(e) {
		if words, ok := wordsOf(e, &l, decide); ok {
			out = append(out, words)
		}
	}
	return out
}

func TestWhatAgentsAskAndAreToldIsSaid(t *testing.T) {
	t.Parallel()
	request, answer := contextscope.KindRequest, contextscope.KindAnswer
	for want, e := range map[string]*contextscope.Event{
		"one/1 asks: Which? (x, y); decide: divisi decide r1": eventOf(t, request, "one/1", wire.Request{
			Kind: wire.RequestAsk, Question: "Which?", Options: []string{"x", "y"},
		}),
		"one/1 asks for a reader: look":           eventOf(t, request, "one/1", wire.Request{Kind: wire.RequestDelegate, Role: "reader", Brief: "look"}),
		"one/1 hands its task over to x: b":       eventOf(t, request, "one/1", wire.Request{Kind: wire.RequestTransfer, Role: "x", Brief: "b"}),
		"one/1 asks to write a, b: r":             eventOf(t, request, "one/1", wire.Request{Kind: wire.RequestScope, Paths: []string{"a", "b"}, Reason: "r"}),
		"one/1 writes to two":                     eventOf(t, request, "one/1", wire.Request{Kind: wire.RequestSend, Task: "two"}),
		"one is refused: no":                      eventOf(t, answer, "", wire.Answer{Refused: "no"}),
		"user:ada answers one: x":                 eventOf(t, answer, "", wire.Answer{From: "user:ada", Text: "x"}),
		"one may write a too":                     eventOf(t, answer, "", wire.Answer{Granted: []string{"a"}}),
		"one/1 received the message of user:ada:": eventOf(t, contextscope.KindSteering, "one/1", wire.Steered{From: "user:ada"}),
	} {
		require.Equal(t, want, told(e, "divisi decide ")[0].text)
	}
	require.Empty(t, told(eventOf(t, answer, "", wire.Answer{Task: "one-x-1-0"}), ""), "the end of a task has a line of its own")
	m := eventOf(t, contextscope.KindUser, "", nil)
	m.Content = genai.NewContentFromText("mind \x1b[31mit", genai.RoleUser)
	require.Contains(t, told(m, "")[0].text, "user writes to one: mind")
	require.NotContains(t, told(m, "")[0].text, "\x1b")
	m.Agent = "master/2"
	require.Empty(t, told(m, ""), "what a master is woken with is said already")
}

func TestALimitAndACircleAreSaid(t *testing.T) {
	t.Parallel()
	control := contextscope.KindControl
	for want, n := range map[string]wire.Nudge{
		"one/1 has one turn left to submit its result: limit_time": {Reason: wire.ReasonLimit, Class: "limit_time"},
		"one/1 repeats itself: ls {}":                              {Reason: wire.ReasonLoop, Class: "call", Detail: "ls {}", Strike: 1},
	} {
		require.Equal(t, []line{{want, feed.Warn}}, told(eventOf(t, control, "one/1", n), ""))
	}
	for _, reason := range []string{wire.ReasonReminder, wire.ReasonJudged, wire.ReasonStopped, wire.ReasonTools} {
		require.Empty(t, told(eventOf(t, control, "one/1", wire.Nudge{Reason: reason, Detail: "x"}), ""))
	}
}

func TestAnAgentThatWaitsIsSeenToWait(t *testing.T) {
	t.Parallel()
	v := feed.Follow()
	d := run.Dispatch{Task: "one", Attempt: 1, Role: "generator"}
	v.Apply(eventOf(t, contextscope.KindTask, "", run.TaskData{State: run.TaskRunning, Dispatch: &d}))
	v.Apply(eventOf(t, contextscope.KindStarted, "one/1", wire.Started{Delivery: 1}))
	require.Equal(t, "starting", view.Agents(v.State)[0].Doing)
	v.Apply(eventOf(t, contextscope.KindTurn, "one/1", nil))
	v.Apply(eventOf(t, contextscope.KindRequest, "one/1", wire.Request{ID: "q", Kind: wire.RequestAsk, Question: "Which?"}))
	require.Equal(t, "waits for an answer: Which?", view.Agents(v.State)[0].Doing)
	v.Apply(eventOf(t, contextscope.KindAnswer, "", wire.Answer{Request: "q", Text: "That."}))
	require.Equal(t, "waiting for the model", view.Agents(v.State)[0].Doing)
}

func TestAnAgentsOwnPlanIsBeforeWhatItDoes(t *testing.T) {
	t.Parallel()
	plan := []spec.Step{{State: spec.StepDone, Text: "read"}, {State: spec.StepDoing, Text: "write \x1b[31mit"}}
	agent := func(steps []spec.Step) string {
		one := view.Agent{ID: "a/1", Role: "r", Doing: "runs go test", Steps: steps}
		return (&live{}).group(&view.Group{Agents: 1, One: &one}, 100, 6, time.UnixMilli(0))
	}
	require.Contains(t, agent(plan), "1/2 write it · runs go test")
	require.Contains(t, agent(plan[:1]), "1/1 · runs go test")
	require.NotContains(t, agent(nil), "·")
}
