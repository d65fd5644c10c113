package subagents

import (
	"context"
	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// probe is a tool for tests.
type probe struct {
	name     string
	readOnly bool
	run      func(ctx context.Context, call tool.Call) tool.Result
}

func (p *probe) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: p.name, Description: "a probe", ParametersJsonSchema: map[string]any{"type": "object"}}
}
func (p *probe) ReadOnly() bool                                      { return p.readOnly }
func (p *probe) Run(ctx context.Context, call tool.Call) tool.Result { return p.run(ctx, call) }

// echo answers with its argument "text".
func echo(name string, readOnly bool) *probe {
	return &probe{name, readOnly, func(_ context.Context, c tool.Call) tool.Result { return tool.Text(fmt.Sprint(c.Args["text"])) }}
}

// fakeTree saves what is put into it.
type fakeTree struct {
	files []string
	saves int
}

func (f *fakeTree) Save(context.Context) (*spec.Patch, error) {
	f.saves++
	if len(f.files) == 0 {
		return nil, nil
	}
	return &spec.Patch{Commit: strings.Repeat("a", 40), Files: append([]string(nil), f.files...)}, nil
}

func (f *fakeTree) Diff(context.Context, int) (string, error) { return strings.Join(f.files, ","), nil }

func testAgent(t *testing.T, m *memory, s *script, extra ...tool.Tool) *Agent {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	names := []string{}
	for _, e := range extra {
		names = append(names, e.Declaration().Name)
	}
	set, err := tool.Builtin(names, tool.Env{Root: root, Dir: root.Name(), Extra: extra})
	require.NoError(t, err)
	a := testAssignment()
	return &Agent{
		Assignment: a, Journal: openTest(t, m), Model: s, ModelName: "m", Compiler: contextscope.NewCompiler(), Tools: set,
		Input:  contextscope.Input{Agent: a.Agent(), Role: a.Role, Include: spec.IncludeFull, Brief: contextscope.Brief{Task: a.Task}},
		Bounds: Bounds{Turns: 20, Time: time.Hour, Idle: time.Minute, Tool: time.Minute, Parallel: 4},
		Clock:  time.Now, Log: zerolog.Nop(),
	}
}

func kinds(events []contextscope.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

func TestAgentEnds(t *testing.T) {
	t.Parallel()
	plan := &probe{spec.ToolDispatch, false, func(context.Context, tool.Call) tool.Result {
		r := tool.Text("dispatched")
		r.Ends, r.Plan = true, &spec.Plan{DecisionRecord: "d"}
		return r
	}}
	failing := func(class model.Class) step {
		return step{err: &model.Error{Class: class, Message: "m", Usage: spec.Usage{Calls: 1, Prompt: 1}}}
	}
	tests := map[string]struct {
		steps  []step
		tools  []tool.Tool
		status spec.Status
		class  string
		calls  int
		final  bool
	}{
		"submit_result":        {steps: []step{submits("ok")}, status: spec.StatusDone, calls: 1},
		"dispatch":             {steps: []step{callsTool("dispatch", nil)}, tools: []tool.Tool{plan}, status: spec.StatusDone, calls: 1},
		"a planner's words":    {steps: []step{says("waiting")}, tools: []tool.Tool{plan}, status: spec.StatusDone, calls: 1},
		"a planner's end":      {steps: []step{submits("over")}, tools: []tool.Tool{plan}, status: spec.StatusDone, calls: 1, final: true},
		"words, then a result": {steps: []step{says("done!"), submits("ok")}, status: spec.StatusDone, calls: 2},
		"words alone":          {steps: []step{says("done!")}, status: spec.StatusFailed, class: "no_result", calls: 3},
		"same call again":      {steps: []step{callsTool("read", map[string]any{"text": "x"})}, tools: []tool.Tool{echo("read", true)}, status: spec.StatusFailed, class: "loop", calls: 7},
		"truncated":            {steps: []step{failing(model.Truncated)}, status: spec.StatusFailed, class: "model_truncated", calls: 3},
		"truncated once":       {steps: []step{failing(model.Truncated), submits("ok")}, status: spec.StatusDone, calls: 2},
		"malformed":            {steps: []step{failing(model.MalformedCall)}, status: spec.StatusFailed, class: "model_malformed_call", calls: 3},
		"empty":                {steps: []step{{}}, status: spec.StatusFailed, class: "model_empty", calls: 3},
		"auth":                 {steps: []step{failing(model.Auth)}, status: spec.StatusFailed, class: "model_auth", calls: 1},
		"blocked":              {steps: []step{failing(model.Blocked)}, status: spec.StatusFailed, class: "model_blocked", calls: 1},
		"budget":               {steps: []step{failing(model.OverBudget)}, status: spec.StatusBlocked, class: "budget", calls: 1},
		"rate limited":         {steps: []step{failing(model.RateLimited)}, status: spec.StatusBlocked, class: "model_rate_limited", calls: 1},
		"too long":             {steps: []step{failing(model.TooLong)}, status: spec.StatusFailed, class: "model_too_long", calls: 1},
		"an unknown class":     {steps: []step{failing("new")}, status: spec.StatusFailed, class: "model_new", calls: 1},
		"unknown tool":         {steps: []step{callsTool("nosuch", nil), submits("ok")}, status: spec.StatusDone, calls: 2},
		"wrong arguments":      {steps: []step{callsTool("submit_result", map[string]any{"sumary": "x"}), submits("ok")}, status: spec.StatusDone, calls: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{steps: tt.steps}
			a := testAgent(t, newMemory(), s, tt.tools...)
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.status, r.Status)
			if tt.class == "" {
				require.Nil(t, r.Error)
			} else {
				require.Equal(t, tt.class, r.Error.Class)
			}
			require.Len(t, s.requests(), tt.calls, kinds(a.Journal.Events()))
			require.Equal(t, tt.final, r.Final)
			usage, err := a.Journal.Usage()
			require.NoError(t, err)
			require.Equal(t, tt.calls, usage.Calls, "every call is counted")
		})
	}
}

func TestAgentTurnIsTwoAppends(t *testing.T) {
	t.Parallel()
	m := newMemory()
	a := testAgent(t, m, &script{steps: []step{callsTool("read", map[string]any{"text": "x"}), submits("ok")}}, echo("read", true))
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "brief turn usage tool turn usage tool", kinds(a.Journal.Events()))
	require.Len(t, m.messages, 5)
}

func TestAgentAnswersCallsInOrderAndReadsInParallel(t *testing.T) {
	t.Parallel()
	// Both reads wait for each other: run one after the other they would never end.
	meet := make(chan struct{})
	var reading, writing atomic.Int32
	read := func(_ context.Context, c tool.Call) tool.Result {
		if reading.Add(1) == 2 {
			close(meet)
		}
		<-meet
		reading.Add(-1)
		return tool.Text(fmt.Sprint(c.Args["text"]))
	}
	write := func(_ context.Context, c tool.Call) tool.Result {
		if reading.Load() != 0 || writing.Add(1) != 1 {
			return tool.Failed("not alone")
		}
		writing.Add(-1)
		return tool.Text(fmt.Sprint(c.Args["text"]))
	}
	call := func(name, text string) *genai.Part {
		return genai.NewPartFromFunctionCall(name, map[string]any{"text": text})
	}
	s := &script{steps: []step{{parts: []*genai.Part{
		call("read", "1"), call("read", "2"), call("write", "3"), call("write", "4"),
	}}, submits("ok")}}
	a := testAgent(t, newMemory(), s, &probe{"read", true, read}, &probe{"write", false, write})
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	var got []any
	for _, e := range a.Journal.Events() {
		if e.Kind == contextscope.KindTool {
			for _, p := range e.Content.Parts {
				got = append(got, p.FunctionResponse.Response["output"])
			}
		}
	}
	require.Equal(t, []any{"1", "2", "3", "4", "the result was taken; the task is over"}, got)
}

func TestAgentEchoesTheIDsThatTheModelGaveAndMakesUpNone(t *testing.T) {
	t.Parallel()
	var seen []string
	spy := &probe{"read", true, func(_ context.Context, c tool.Call) tool.Result { seen = append(seen, c.ID); return tool.Text("x") }}
	with := genai.NewPartFromFunctionCall("read", nil)
	with.FunctionCall.ID = "call-7"
	s := &script{steps: []step{{parts: []*genai.Part{with}}, {parts: []*genai.Part{genai.NewPartFromFunctionCall("read", nil)}}, submits("ok")}}
	a := testAgent(t, newMemory(), s, spy)
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "call-7", seen[0])
	require.NotEmpty(t, seen[1])
	var ids []string
	for _, e := range a.Journal.Events() {
		if e.Kind == contextscope.KindTool {
			ids = append(ids, e.Content.Parts[0].FunctionResponse.ID)
		}
	}
	require.Equal(t, []string{"call-7", "", ""}, ids)
}

func TestAgentIsToldOfWritesOutsideItsWriteSet(t *testing.T) {
	t.Parallel()
	tree := &fakeTree{}
	write := &probe{"write", false, func(_ context.Context, c tool.Call) tool.Result {
		tree.files = []string{fmt.Sprint(c.Args["text"])}
		return tool.Text("written")
	}}
	s := &script{steps: []step{
		callsTool("write", map[string]any{"text": "b.go"}), submits("ok"), callsTool("write", map[string]any{"text": "a.go"}), submits("ok"),
	}}
	a := testAgent(t, newMemory(), s, write)
	a.Tree, a.WriteSet = tree, spec.WriteSet{Files: []string{"a.go"}}
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, []string{"a.go"}, r.Patch.Files)
	require.Len(t, s.requests(), 4)
	require.Contains(t, fmt.Sprint(lastResponse(s.requests()[2])), "b.go is outside")
}

func lastResponse(req *model.Request) map[string]any {
	last := req.Contents[len(req.Contents)-1]
	return last.Parts[0].FunctionResponse.Response
}

func TestAgentLimits(t *testing.T) {
	t.Parallel()
	endless := func(wait time.Duration) *script {
		s := &script{}
		for i := range 100 {
			st := callsTool("read", map[string]any{"text": fmt.Sprint(i)})
			st.wait = wait
			s.steps = append(s.steps, st)
		}
		return s
	}
	tests := map[string]struct {
		bounds Bounds
		script *script
		tool   time.Duration
		status spec.Status
		class  string
		calls  int
	}{
		"turns":  {Bounds{Turns: 10, Time: time.Hour}, endless(0), 0, spec.StatusTimedOut, "limit_turns", 10},
		"tokens": {Bounds{Turns: 99, Tokens: 150, Time: time.Hour}, endless(0), 0, spec.StatusTimedOut, "limit_tokens", 10},
		"time":   {Bounds{Turns: 99, Time: 95 * time.Second}, endless(10 * time.Second), 0, spec.StatusTimedOut, "limit_time", 10},
		"time of earlier deliveries": {
			Bounds{Turns: 99, Time: 95 * time.Second, Used: 50 * time.Second}, endless(10 * time.Second), 0, spec.StatusTimedOut, "limit_time", 5,
		},
		"idle":           {Bounds{Turns: 99, Time: time.Hour, Idle: 20 * time.Second}, &script{steps: []step{{hang: true}}}, 0, spec.StatusTimedOut, "limit_idle", 3},
		"a call's":       {Bounds{Turns: 3, Time: time.Hour, Tool: time.Second}, endless(0), time.Minute, spec.StatusTimedOut, "limit_turns", 3},
		"time in a call": {Bounds{Turns: 3, Time: time.Minute, Tool: time.Hour}, endless(0), 2 * time.Minute, spec.StatusTimedOut, "limit_time", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := &probe{"read", true, func(ctx context.Context, c tool.Call) tool.Result {
					timer := time.NewTimer(tt.tool)
					defer timer.Stop()
					select {
					case <-timer.C:
						return tool.Text(fmt.Sprint(c.Args["text"]))
					case <-ctx.Done():
						return tool.Failed("gave up")
					}
				}}
				a := testAgent(t, newMemory(), tt.script, slow)
				tt.bounds.Idle, tt.bounds.Tool = max(tt.bounds.Idle, time.Second*15), max(tt.bounds.Tool, time.Second)
				a.Bounds = tt.bounds
				r, err := a.Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, tt.status, r.Status)
				require.Equal(t, tt.class, r.Error.Class)
				require.Len(t, tt.script.requests(), tt.calls)
				if tt.calls > 5 {
					require.Equal(t, 1, strings.Count(kinds(a.Journal.Events()), "control"), "told once to wrap up")
				}
			})
		})
	}
}

func TestAgentKeepsTheLastToolResultWhenItIsToldToWrapUp(t *testing.T) {
	t.Parallel()
	s := &script{steps: []step{callsTool("read", map[string]any{"text": "a"}), callsTool("read", map[string]any{"text": "b"}), submits("ok")}}
	a := testAgent(t, newMemory(), s, echo("read", true))
	a.Bounds.Turns = 3
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	second := s.requests()[1]
	last := second.Contents[len(second.Contents)-1]
	require.Equal(t, "a", last.Parts[0].FunctionResponse.Response["output"])
	require.Contains(t, last.Parts[1].Text, "limit is near")
	require.Nil(t, second.Config.ToolConfig)
	require.Equal(t, []string{"submit_result"}, s.requests()[2].Config.ToolConfig.FunctionCallingConfig.AllowedFunctionNames)
}

func TestAgentTakesSteeringAtTheNextBoundaryOnce(t *testing.T) {
	t.Parallel()
	s := &script{steps: []step{says("hm"), submits("ok")}}
	a := testAgent(t, newMemory(), s)
	a.Inbox = NewInbox(func(error) {})
	s.each = func(turn int) {
		if turn == 0 {
			a.Inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "use tabs", From: "user"})
			a.Inbox.Put(wire.Control{ID: "2", Verb: "dance"})
		}
	}
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "brief turn usage steering turn usage tool", kinds(a.Journal.Events()))
	a.Inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "use tabs"})
	moved, err := a.boundary(t.Context())
	require.NoError(t, err)
	require.False(t, moved, "the same message counts once")
}

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

func TestAgentCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &script{steps: []step{{hang: true}}}
	a := testAgent(t, newMemory(), s)
	a.Inbox = NewInbox(cancel)
	s.each = func(int) { a.Inbox.Put(wire.Control{Verb: wire.ControlCancel, Text: "not wanted"}) }
	r, err := a.Run(ctx)
	require.NoError(t, err)
	require.Equal(t, spec.StatusCancelled, r.Status)
	require.Contains(t, r.Error.Message, "not wanted")
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
	run := func(t *testing.T, m *memory, s *script) (spec.Result, *Agent, error) {
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

func TestAgentTellsAFailedAttemptsChanges(t *testing.T) {
	t.Parallel()
	a := testAgent(t, newMemory(), &script{steps: []step{says("I am done")}})
	a.Tree = &fakeTree{files: []string{"x.go"}}
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Contains(t, r.Error.Detail, "x.go")
	require.Equal(t, "I am done", r.Handoff.Summary)
	require.Nil(t, r.Patch)
}

func TestAgentSurvivesAToolThatPanics(t *testing.T) {
	t.Parallel()
	bad := &probe{"read", true, func(context.Context, tool.Call) tool.Result { panic("oh") }}
	s := &script{steps: []step{callsTool("read", nil), submits("ok")}}
	r, err := testAgent(t, newMemory(), s, bad).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Contains(t, lastResponse(s.requests()[1])["error"], "broke down")
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	turn := func(names ...string) (*genai.Content, *genai.Content) {
		calls, results := &genai.Content{}, &genai.Content{}
		for _, n := range names {
			calls.Parts = append(calls.Parts, genai.NewPartFromFunctionCall("read", map[string]any{"b": 1, "a": n}))
			results.Parts = append(results.Parts, genai.NewPartFromFunctionResponse("read", map[string]any{"output": n}))
		}
		return calls, results
	}
	var r repeats
	for range loopLimit - 1 {
		r = r.add(turn("x"))
	}
	require.Equal(t, loopLimit-1, r.run())
	require.Equal(t, loopLimit, r.add(turn("x")).run())
	require.Equal(t, 1, r.add(turn("x", "y")).run())
	calls, _ := turn("x")
	_, other := turn("y")
	require.Equal(t, 1, r.add(calls, other).run(), "the same call with another result is no repeat")
	require.Equal(t, loopLimit, r.add(turn("x")).nudged().add(turn("x")).add(turn("x")).run(), "two more after a nudge")
	require.Zero(t, repeats(nil).run())
}

func TestPlanOfADispatchIsInTheResult(t *testing.T) {
	t.Parallel()
	plan := &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "reader", Brief: "b"}}}
	dispatch := &probe{spec.ToolDispatch, false, func(context.Context, tool.Call) tool.Result {
		r := tool.Text("dispatched")
		r.Ends, r.Plan = true, plan
		return r
	}}
	a := testAgent(t, newMemory(), &script{steps: []step{callsTool("dispatch", nil)}}, dispatch)
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan, r.Plan)
	require.False(t, r.Final)
	events := a.Journal.Events()
	var data wire.Tooled
	require.NoError(t, json.Unmarshal(events[len(events)-1].Data, &data))
	require.Equal(t, plan, data.End.Plan)
}
