package agent

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/compact"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestAgentStopsAtABoundaryAndGoesOnLater(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("read", map[string]any{"text": "a"}), modeltest.Submits("ok")}}
	a := testAgent(t, m, s, echo("read", true))
	a.Inbox = NewInbox(func(error) {})
	s.Each = func(int) { a.Inbox.Put(wire.Control{Verb: wire.ControlStop}) }
	_, err := a.Run(t.Context())
	require.ErrorIs(t, err, ErrStopped)
	require.Equal(t, "brief turn usage calls tool control", kinds(a.Journal.Events()))

	s.Each = nil
	again := testAgent(t, m, s, echo("read", true))
	r, err := again.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	require.Equal(t, map[int]int{0: 1, 1: 1}, s.Answered)
}

// errGone is the cause of a worker that stops.
var errGone = errors.New("the worker stops")

func TestAgentGivesNoResultWhenItsWorkerStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &modeltest.Script{Steps: []modeltest.Step{{Hang: true}}, Each: func(int) { cancel(errGone) }}
	a := testAgent(t, journaltest.New(), s)
	_, err := a.Run(ctx)
	require.ErrorIs(t, err, errGone)
	require.Equal(t, "brief", kinds(a.Journal.Events()))
}

func TestAgentIsFencedByANewerDelivery(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	s := &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("ok")}}
	a := testAgent(t, m, s)
	s.Each = func(int) {
		newer := openTest(t, m)
		_, err := newer.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
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
	steps := []modeltest.Step{
		modeltest.CallsTool("read", map[string]any{"text": "a"}),
		{Err: &model.Error{Class: model.Truncated, Message: "cut"}},
		modeltest.CallsTool("write", map[string]any{"text": "a.go"}),
		modeltest.Says("done"),
		modeltest.CallsTool("write", map[string]any{"text": strings.Repeat("long", 256<<10/4+1)}),
		modeltest.Submits("all of it"),
	}
	run := func(t *testing.T, m *journaltest.Memory, s *modeltest.Script) (spec.Result, *Agent, error) {
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
	whole := journaltest.New()
	want, wantAgent, err := run(t, whole, &modeltest.Script{Steps: steps})
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, want.Status)
	for k := range len(whole.Messages) {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			m, s := journaltest.New(), &modeltest.Script{Steps: steps}
			m.SetFailAfter(k)
			_, _, err := run(t, m, s)
			require.ErrorIs(t, err, journaltest.ErrDown)
			before := len(m.Messages)
			require.Equal(t, k, before)
			m.SetFailAfter(-1)
			got, agent, err := run(t, m, s)
			require.NoError(t, err)
			require.Equal(t, want, got)
			once := strings.NewReplacer("calls calls", "calls") // what a call has come to is stored meanwhile where it is slow
			require.Equal(t, once.Replace(kinds(wantAgent.Journal.Events())), once.Replace(kinds(agent.Journal.Events())))
			turn := 0
			for _, e := range agent.Journal.Events() {
				if e.Kind == contextscope.KindTurn && e.Pos <= uint64(k) {
					require.Equal(t, 1, s.Answered[turn], "turn %d was stored and is not asked for again", turn)
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

// digger is an agent whose session has compactions, failed ones too, artifacts, summaries and loads; nothing happens beside it,
// so that it is the same each time.
func digger(t *testing.T, m *journaltest.Memory, r model.Model) *Agent {
	t.Helper()
	a := testAgent(t, m, nil)
	kept := NewArtifactStore(m, "r1", a.Assignment.Agent(), a.Known)
	var err error
	a.Tools, err = tool.NewSet(&tool.Guard{
		Artifacts: kept, Sought: a.Sought, Summarizer: &Summarizer{model: r, name: "small", meta: model.Meta{Run: "r1"}},
		Policies: map[string]spec.ToolOutput{"dig": {Policy: spec.OutputSummarize, Limit: 6_000}},
	}, []string{"dig", spec.ToolLoadArtifact, spec.ToolSubmitResult}, slices.Concat(
		[]tool.Tool{digTool()}, submitTool(t), artifacts.Tools(artifacts.Config{Store: kept, Events: a, Known: a.Known}))...)
	require.NoError(t, err)
	now := spec.ContextRules{Compaction: spec.CompactionRules{Start: 0.5, Swap: 0.5, Hard: 0.5}}
	c := compact.New(compact.Config{Model: r, ModelName: "small", Window: 100_000, Log: zerolog.Nop()})
	a.Compact = compact.NewRunner(c, now, model.Meta{Run: "r1"})
	a.Model, a.Input.Window, a.Bounds.Turns, a.Bounds.Tokens = r, 8_000, 60, 900_000
	return a
}

var anHandle = regexp.MustCompile(`artifact:[^": \\]+`)

const snapshotJSON = `{"overall_goal": "Dig.", "key_knowledge": "stone", "file_system_state": "a.txt sub/b.txt big.txt", ` +
	`"recent_actions": "dug", "current_plan": [{"status": "todo", "text": "dig on"}]}`

func digTool() *probe {
	return &probe{"dig", true, func(_ context.Context, c tool.Call) tool.Result {
		n, _ := c.Args["n"].(float64)
		r := tool.Text(strings.Repeat(fmt.Sprintf("stone and <sand> at %v\n", n), int(n)/10+1))
		r.Output["exit_code"], r.Output["places"] = int(n), []string{"here", "<there>"}
		return r
	}}
}

// digs answers the digger; what it does depends on the request alone.
func digs(req *model.Request) ([]*genai.Part, *model.Error) {
	call := func(name string, args map[string]any) []*genai.Part {
		return []*genai.Part{genai.NewPartFromFunctionCall(name, args)}
	}
	turn := req.Meta.Turn
	switch {
	case req.Meta.Purpose == "compaction" && turn%4 == 1:
		return []*genai.Part{{Text: "no"}}, nil
	case req.Meta.Purpose == "compaction":
		return []*genai.Part{{Text: snapshotJSON}}, nil
	case req.Meta.Purpose == "summary":
		return []*genai.Part{{Text: "stone"}}, nil
	case turn == 25:
		return call(spec.ToolSubmitResult, map[string]any{"summary": "dug"}), nil
	case turn == 8:
		return nil, &model.Error{Class: model.Truncated, Message: "cut"}
	case turn == 10:
		return []*genai.Part{{Text: "I see."}}, nil
	case turn == 12:
		return nil, &model.Error{Class: model.TooLong, Message: "too long"}
	case turn%5 == 4:
		return append(call(spec.ToolLoadArtifact, map[string]any{"handle": anHandle.FindString(modeltest.AsSent(req))}),
			call(spec.ToolLoadArtifact, map[string]any{"handle": "event:3"})...), nil
	default:
		return append(call("dig", map[string]any{"n": 4_000 + turn%2}), call("dig", map[string]any{"n": 50 * turn})...), nil
	}
}

func TestAgentOfManyKindsOfEventsResumesAtEveryAppend(t *testing.T) {
	t.Parallel()
	type told struct {
		Kind    contextscope.Kind
		Seq     int
		Content *genai.Content
		Data    string
	}
	session := func(t *testing.T, m *journaltest.Memory) (all []told) {
		t.Helper()
		for _, e := range openTest(t, m).Events() {
			if e.Kind == contextscope.KindCalls {
				e.Data = nil // times, and which of two calls was faster
			}
			all = append(all, told{e.Kind, e.Seq, e.Content, string(e.Data)})
		}
		return all
	}
	whole, asked := journaltest.New(), modeltest.NewRecorder(digs)
	var want spec.Result
	// In the bubble no call takes a second, after which the states of calls would be one event more.
	synctest.Test(t, func(t *testing.T) {
		var err error
		want, err = digger(t, whole, asked).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, want.Status, "%+v", want.Error)
	})
	for meta, sent := range asked.Sent {
		loaded := strings.Contains(sent, "What you asked load_artifact for")
		require.Equal(t, meta.Purpose == "turn" && meta.Turn%5 == 0, loaded, "a load is in one request: %+v", meta)
	}
	for k := range len(whole.Messages) {
		if testing.Short() && k%4 != 0 {
			continue
		}
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, r := journaltest.New(), modeltest.NewRecorder(digs)
				m.SetFailAfter(k)
				_, err := digger(t, m, r).Run(t.Context())
				require.ErrorIs(t, err, journaltest.ErrDown)
				m.SetFailAfter(-1)
				got, err := digger(t, m, r).Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, want, got)
				require.Equal(t, session(t, whole), session(t, m))
				require.Equal(t, asked.Sent, r.Sent, "each request is the same")
			})
		})
	}
}

func TestAgentEndsWithItsSubmissionEvenWhenTheResultWasNotStored(t *testing.T) {
	t.Parallel()
	m, s := journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{modeltest.Submits("kept")}}
	_, err := testAgent(t, m, s).Run(t.Context())
	require.NoError(t, err)
	r, err := testAgent(t, m, s).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kept", r.Handoff.Summary)
	require.Len(t, s.Sent(), 1)
}
