package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/tool/files"
	"divisi/subagents/tool/team"
	"divisi/subagents/wire"

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
	return &genai.FunctionDeclaration{
		Name: p.name, Description: "a probe", ParametersJsonSchema: map[string]any{"type": "object"},
	}
}

func (p *probe) Effect(tool.Call) tool.Effect {
	if p.readOnly {
		return tool.Reads
	}
	return tool.Writes
}

func (p *probe) Run(ctx context.Context, call tool.Call) tool.Result { return p.run(ctx, call) }

// echo answers with its argument "text".
func echo(name string, readOnly bool) *probe {
	return &probe{name, readOnly, func(_ context.Context, c tool.Call) tool.Result {
		return tool.Text(fmt.Sprint(c.Args["text"]))
	}}
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

// submitTool is submit_result alone.
func submitTool(t testing.TB) []tool.Tool {
	t.Helper()
	all, err := team.Tools(team.Config{})
	require.NoError(t, err)
	return all[:1]
}

func testAgent(t testing.TB, m *journaltest.Memory, s *modeltest.Script, extra ...tool.Tool) *Agent {
	t.Helper()
	a := testAssignment()
	set, err := tool.NewSet(nil, nil, slices.Concat(extra, submitTool(t))...)
	require.NoError(t, err)
	return &Agent{
		Assignment: a, Journal: openTest(t, m), Model: s, Call: Call{Model: "m"}, Compiler: compile.NewCompiler(), Tools: set,
		Input: compile.Input{
			Agent: a.Agent(), Role: a.Role, Include: spec.IncludeFull, Brief: compile.Brief{Task: a.Task},
		},
		Bounds: limit.Bounds{Turns: 20, Time: time.Hour, Idle: time.Minute, Call: time.Hour, Tool: time.Minute, Parallel: 4},
		Scope:  files.NewScope(spec.WriteSet{}), Delegated: func() spec.Usage { return spec.Usage{} },
		Inbox: NewInbox(func(error) {}), Doing: func(string) {}, Rest: func() func() { return func() {} },
		Siblings: NewSiblings(), Clock: time.Now, Log: zerolog.Nop(),
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
	fails := func(class model.Class) []modeltest.Step {
		return []modeltest.Step{{Err: &model.Error{Class: class, Message: "m", Usage: spec.Usage{Calls: 1, Prompt: 1}}}}
	}
	const failed, blocked = spec.StatusFailed, spec.StatusBlocked
	planner, reader := []tool.Tool{plan}, []tool.Tool{echo("read", true)}
	same := []modeltest.Step{modeltest.CallsTool("read", map[string]any{"text": "x"})}
	wrong := modeltest.CallsTool("submit_result", map[string]any{"title": "x"})
	tests := map[string]struct {
		Steps  []modeltest.Step
		tools  []tool.Tool
		status spec.Status
		class  string
		calls  int
		final  bool
	}{
		"submit_result":        {Steps: []modeltest.Step{modeltest.Submits("ok")}, status: spec.StatusDone, calls: 1},
		"dispatch":             {Steps: []modeltest.Step{modeltest.CallsTool("dispatch", nil)}, tools: planner, status: spec.StatusDone, calls: 1},
		"a planner's words":    {Steps: []modeltest.Step{modeltest.Says("waiting")}, tools: planner, status: spec.StatusDone, calls: 1},
		"a planner's end":      {Steps: []modeltest.Step{modeltest.Submits("over")}, tools: planner, status: spec.StatusDone, calls: 1, final: true},
		"words, then a result": {Steps: []modeltest.Step{modeltest.Says("done!"), modeltest.Submits("ok")}, status: spec.StatusDone, calls: 2},
		"words alone":          {Steps: []modeltest.Step{modeltest.Says("done!")}, status: spec.StatusFailed, class: "no_result", calls: 3},
		"same call again":      {Steps: same, tools: reader, status: spec.StatusFailed, class: "loop", calls: 10},
		"truncated":            {Steps: fails(model.Truncated), status: spec.StatusFailed, class: "model_truncated", calls: 3},
		"truncated once":       {Steps: append(fails(model.Truncated), modeltest.Submits("ok")), status: spec.StatusDone, calls: 2},
		"malformed":            {Steps: fails(model.MalformedCall), status: failed, class: "model_malformed_call", calls: 3},
		"empty":                {Steps: []modeltest.Step{{}}, status: spec.StatusFailed, class: "model_empty", calls: 3},
		"auth":                 {Steps: fails(model.Auth), status: spec.StatusFailed, class: "model_auth", calls: 1},
		"blocked":              {Steps: fails(model.Blocked), status: spec.StatusFailed, class: "model_blocked", calls: 1},
		"budget":               {Steps: fails(model.OverBudget), status: spec.StatusBlocked, class: "budget", calls: 1},
		"rate limited":         {Steps: fails(model.RateLimited), status: blocked, class: "model_rate_limited", calls: 1},
		"too long":             {Steps: fails(model.TooLong), status: spec.StatusFailed, class: "model_too_long", calls: 1},
		"an unknown class":     {Steps: fails("new"), status: spec.StatusFailed, class: "model_new", calls: 1},
		"unknown tool":         {Steps: []modeltest.Step{modeltest.CallsTool("nosuch", nil), modeltest.Submits("ok")}, status: spec.StatusDone, calls: 2},
		"wrong arguments":      {Steps: []modeltest.Step{wrong, modeltest.Submits("ok")}, status: spec.StatusDone, calls: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &modeltest.Script{Steps: tt.Steps}
			a := testAgent(t, journaltest.New(), s, tt.tools...)
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.status, r.Status)
			if tt.class == "" {
				require.Nil(t, r.Error)
			} else {
				require.Equal(t, tt.class, r.Error.Class)
			}
			require.Len(t, s.Sent(), tt.calls, kinds(a.Journal.Events()))
			require.Equal(t, tt.final, r.Final)
			usage, err := a.Journal.Usage()
			require.NoError(t, err)
			require.Equal(t, tt.calls, usage.Calls, "every call is counted")
		})
	}
}

func TestAgentTurnIsTwoAppends(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("read", map[string]any{"text": "x"}), modeltest.Submits("ok")}}
	a := testAgent(t, m, s, echo("read", true))
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "brief turn usage calls tool turn usage calls tool", kinds(a.Journal.Events()))
	require.Len(t, m.Messages, 5)
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
	s := &modeltest.Script{Steps: []modeltest.Step{{Parts: []*genai.Part{
		call("read", "1"), call("read", "2"), call("write", "3"), call("write", "4"),
	}}, modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, &probe{"read", true, read}, &probe{"write", false, write})
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
	require.Equal(t, []any{"1", "2", "3", "4", "the result was accepted; the task is over"}, got)
}

func TestAgentEchoesTheIDsThatTheModelGaveAndMakesUpNone(t *testing.T) {
	t.Parallel()
	var seen []string
	spy := &probe{"read", true, func(_ context.Context, c tool.Call) tool.Result {
		seen = append(seen, c.ID)
		return tool.Text("x")
	}}
	with := genai.NewPartFromFunctionCall("read", nil)
	with.FunctionCall.ID = "call-7"
	s := &modeltest.Script{Steps: []modeltest.Step{{Parts: []*genai.Part{with}}, modeltest.CallsTool("read", nil), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, spy)
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"read-1-0", "read-2-0"}, seen, "what a model calls a call is no name: it may give none, or one twice")
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
	s := &modeltest.Script{Steps: []modeltest.Step{
		modeltest.CallsTool("write", map[string]any{"text": "b.go"}), modeltest.Submits("ok"),
		modeltest.CallsTool("write", map[string]any{"text": "a.go"}), modeltest.Submits("ok"),
	}}
	a := testAgent(t, journaltest.New(), s, write)
	a.Tree, a.Scope = tree, files.NewScope(spec.WriteSet{Files: []string{"a.go"}})
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, []string{"a.go"}, r.Patch.Files)
	require.Len(t, s.Sent(), 4)
	require.Contains(t, fmt.Sprint(lastResponse(s.Sent()[2])), "b.go is outside")
}

func lastResponse(req *model.Request) map[string]any {
	last := req.Contents[len(req.Contents)-1]
	return last.Parts[0].FunctionResponse.Response
}

func TestAgentTakesSteeringAtTheNextBoundaryOnce(t *testing.T) {
	t.Parallel()
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.Says("hm"), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s)
	a.Inbox = NewInbox(func(error) {})
	s.Each = func(turn int) {
		if turn == 0 {
			a.Inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "use tabs", From: "user"})
			a.Inbox.Put(wire.Control{ID: "2", Verb: "dance"})
		}
	}
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "brief turn usage steering turn usage calls tool", kinds(a.Journal.Events()))
	a.Inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "use tabs"})
	moved, err := a.boundary(t.Context())
	require.NoError(t, err)
	require.False(t, moved, "the same message counts once")
}

func TestAgentCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &modeltest.Script{Steps: []modeltest.Step{{Hang: true}}}
	a := testAgent(t, journaltest.New(), s)
	a.Inbox = NewInbox(cancel)
	s.Each = func(int) { a.Inbox.Put(wire.Control{Verb: wire.ControlCancel, Text: "not wanted"}) }
	r, err := a.Run(ctx)
	require.NoError(t, err)
	require.Equal(t, spec.StatusCancelled, r.Status)
	require.Contains(t, r.Error.Message, "not wanted")
}

func TestAgentTellsAFailedAttemptsChanges(t *testing.T) {
	t.Parallel()
	a := testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{modeltest.Says("I am done")}})
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
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("read", nil), modeltest.Submits("ok")}}
	r, err := testAgent(t, journaltest.New(), s, bad).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Contains(t, lastResponse(s.Sent()[1])["error"], "broke down")
}

func TestPlanOfADispatchIsInTheResult(t *testing.T) {
	t.Parallel()
	plan := &spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "reader", Brief: "b"}}}
	dispatch := &probe{spec.ToolDispatch, false, func(context.Context, tool.Call) tool.Result {
		r := tool.Text("dispatched")
		r.Ends, r.Plan = true, plan
		return r
	}}
	a := testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("dispatch", nil)}}, dispatch)
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan, r.Plan)
	require.False(t, r.Final)
	events := a.Journal.Events()
	var data wire.Tooled
	require.NoError(t, json.Unmarshal(events[len(events)-1].Data, &data))
	require.Equal(t, plan, data.End.Plan)
}
