package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/journaltest"
	"divisi/subagents/compact"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

const (
	longTurns  = 300
	shortTurns = 60
	longWindow = 32_000
	// The rule that a person gives at turn 5, and what a tool says at turn 9.
	plantedRule = "From now on never touch the files under vendor/ and call nothing Foo_17."
	plantedFact = "the answer port is 48123"
)

// answers plays a model that digs until its last turn and submits; snapshot writes its snapshots.
func answers(turns int, snapshot func(geminitest.Request) geminitest.Answer) func(geminitest.Request) geminitest.Answer {
	return func(r geminitest.Request) geminitest.Answer {
		switch {
		case r.Purpose == "compaction":
			return snapshot(r)
		case r.Turn >= turns:
			return geminitest.Answer{Calls: []geminitest.Call{{Name: spec.ToolSubmitResult, Args: map[string]any{"summary": "dug"}}}}
		}
		return geminitest.Answer{Text: fmt.Sprintf("I look at place %d.", r.Turn), Calls: []geminitest.Call{
			{Name: "dig", Args: map[string]any{"text": fmt.Sprintf("place-%d", r.Turn)}},
		}}
	}
}

var planted = regexp.MustCompile(`the answer port is \d+`)

// goodSnapshot keeps what it finds, and names the newest place.
func goodSnapshot(r geminitest.Request) geminitest.Answer {
	known := "nothing yet"
	if found := planted.FindString(r.Text()); found != "" {
		known = found
	}
	return geminitest.Answer{Text: "Private: I go through it.\n{\n\"overall_goal\": \"Dig everywhere.\",\n" +
		"\"key_knowledge\": \"" + known + "\",\n\"file_system_state\": \"nothing was changed\",\n" +
		"\"recent_actions\": \"dug\",\n\"current_plan\": [{\"status\": \"in_progress\", \"text\": \"dig on\"}]\n}"}
}

// dig returns four kilobytes for each place; the ninth has the fact in it.
func dig() *probe {
	return &probe{"dig", true, func(_ context.Context, c tool.Call) tool.Result {
		place := fmt.Sprint(c.Args["text"])
		text := strings.Repeat("stone and sand of "+place+"\n", 150)
		if place == "place-9" {
			text = "here " + plantedFact + "\n" + text
		}
		return tool.Text(text)
	}}
}

// longAgent is an agent against the fake server, with a window of 32,000 tokens.
func longAgent(t *testing.T, m *journaltest.Memory, server *geminitest.Server) *Agent {
	t.Helper()
	gemini, err := model.NewGemini(t.Context(), model.Options{
		APIKey: "k", BaseURL: server.URL, Getenv: func(string) string { return "" },
	})
	require.NoError(t, err)
	t.Cleanup(gemini.Close)
	retry := model.Retry{Tries: 2, First: time.Millisecond, Max: time.Millisecond, LimitTime: 50 * time.Millisecond}
	service := model.New(gemini, model.Policy{Retry: retry})
	a := testAgent(t, m, nil, dig())
	a.Model, a.Call = service, Call{Model: "gemini-3.8-flash", MaxOutput: 1000}
	a.Bounds.Turns = longTurns + 20
	a.Input.Window = longWindow
	a.Input.Brief.Task.Constraints = []string{"Keep every exported name."}
	a.Compact = compact.NewRunner(
		compact.New(compact.Config{Model: service, ModelName: "gemini-3.5-flash-lite", Log: zerolog.Nop()}),
		spec.ContextRules{}, model.Meta{Run: "r1", Task: "t1", Attempt: 1},
	)
	return a
}

func TestAgentOfManyTurnsStaysInItsWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("300 turns, and no more races in them than in 60")
	}
	t.Parallel()
	steer := make(chan func(), 1)
	play := answers(longTurns, goodSnapshot)
	server := geminitest.Start(t, geminitest.Options{KeepBodies: true, Handle: func(r geminitest.Request) geminitest.Answer {
		if r.Turn == 5 && r.Purpose == "turn" {
			(<-steer)()
		}
		return play(r)
	}})
	m := journaltest.New()
	a := longAgent(t, m, server)
	a.Inbox = NewInbox(func(error) {})
	steer <- func() { a.Inbox.Put(wire.Control{ID: "s1", Verb: wire.ControlSteer, From: "user", Text: plantedRule}) }
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)

	turns := 0
	var last geminitest.Entry
	for _, e := range server.Requests() {
		if e.Purpose == "turn" {
			turns, last = turns+1, e
			require.LessOrEqual(t, len(e.Body)/4, longWindow, "turn %d", e.Turn)
		}
	}
	require.Equal(t, longTurns, turns)
	snapshots := methods(t, a)[contextscope.MethodSnapshot]
	require.GreaterOrEqual(t, len(snapshots), 3)
	t.Logf("%d snapshots", len(snapshots))
	require.Contains(t, string(last.Body), plantedRule, "what a person said is in the last request word for word")
	require.Contains(t, string(last.Body), "Keep every exported name.")
	require.Contains(t, string(last.Body), plantedFact, "what a tool said long ago is in the snapshot")
	require.Contains(t, snapshots[0].Snapshot, `"text": "Keep every exported name."`, "pinned by code")
	for i := 1; i < len(snapshots); i++ {
		require.Greater(t, snapshots[i].To, snapshots[i-1].To)
		require.LessOrEqual(t, snapshots[i].From, snapshots[i-1].To+1, "ranges overlap or touch")
	}
}

// methods groups an agent's compactions.
func methods(t *testing.T, a *Agent) map[string][]contextscope.Compaction {
	t.Helper()
	out := map[string][]contextscope.Compaction{}
	for _, e := range a.Journal.Events() {
		if c, ok := contextscope.CompactionOf(e); ok {
			out[c.Method] = append(out[c.Method], c)
		}
	}
	return out
}

// TestAgentGoesOnWhateverBecomesOfItsSnapshots: the model of the snapshots fails in each way that the fake server knows.
func TestAgentGoesOnWhateverBecomesOfItsSnapshots(t *testing.T) {
	t.Parallel()
	bad := map[string]geminitest.Answer{
		"not JSON": {Text: "I would rather not."}, "no end": {Text: `{"overall_goal": "x`},
		"inflated": {Text: `{"overall_goal": "` + strings.Repeat("long ", 40_000) + `"}`},
	}
	for _, fault := range geminitest.Faults() {
		if testing.Short() && fault != "429" && fault != "cut" {
			continue // each is 60 turns, and the races of all are the same
		}
		if fault != "hang" && fault != "stall" { // they end by the compaction's own time, which its package tests without waiting
			bad[fault] = geminitest.Answer{Fault: fault, Times: 100}
		}
	}
	for name, answer := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := geminitest.Start(t, geminitest.Options{
				KeepBodies: true, Lenient: true,
				Handle: answers(shortTurns, func(geminitest.Request) geminitest.Answer { return answer }),
			})
			m := journaltest.New()
			a := longAgent(t, m, server)
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
			checkPruned(t, a, server)
		})
	}
}

// checkPruned inspects what a run without any snapshot has left.
func checkPruned(t *testing.T, a *Agent, server *geminitest.Server) {
	t.Helper()
	done := methods(t, a)
	require.Empty(t, done[contextscope.MethodSnapshot])
	require.NotEmpty(t, done[contextscope.MethodFailed])
	require.NotEmpty(t, done[contextscope.MethodPrune])
	paid, turns := 0, 0
	var last geminitest.Entry
	for _, e := range server.Requests() {
		switch e.Purpose {
		case "compaction":
			paid++
		case "turn":
			turns, last = turns+1, e
			require.LessOrEqual(t, len(e.Body)/4, longWindow)
		}
	}
	require.NotZero(t, paid)
	require.Less(t, len(done[contextscope.MethodFailed]), turns/3, "a failure is not paid for every turn")
	require.Contains(t, string(last.Body), "Keep every exported name.")
	require.Contains(t, string(last.Body), fmt.Sprintf("place-%d", shortTurns-1), "the newest turns are there")

	// Whatever left the request is named in the trace, and can be loaded.
	in := a.Input
	in.Events = a.Journal.Events()
	request := compile.NewCompiler().Compile(in)
	shown, err := json.Marshal(request.Contents)
	require.NoError(t, err)
	var named []string
	for _, line := range request.Trace {
		named = append(named, line.Events...)
	}
	for _, e := range in.Events {
		if e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindTool {
			require.True(t, slices.Contains(named, e.ID), "event %s is neither shown nor named as left out", e.ID)
		}
		if e.Kind == contextscope.KindTool && !strings.Contains(string(shown), e.ID) {
			require.NotEmpty(t, contextscope.RenderEvent(e))
		}
	}
}
