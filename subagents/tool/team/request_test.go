package team

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/tool/files"
	"divisi/subagents/wire"
)

// desk answers requests as it is told and keeps them.
type desk struct {
	asked  []wire.Request
	call   string
	answer wire.Answer
	err    error
}

func (d *desk) Request(_ context.Context, call string, r wire.Request) (wire.Answer, error) {
	d.asked, d.call = append(d.asked, r), call
	return d.answer, d.err
}

func requestSet(t *testing.T, d *desk, grow func(paths, unlocked []string)) *tool.Set {
	t.Helper()
	return newBench(t, func(c *Config) {
		c.Requester, c.Grow = d, grow
		c.Roles = []wire.Callee{{Name: "reader", Description: "reads\nwell"}, {Name: "hand", Writes: true}}
	}).Set
}

func TestRequestsWaitAndSayWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   map[string]any
		want   wire.Request
		effect tool.Effect
		doing  string
	}{
		spec.ToolDelegate: {
			map[string]any{"role": "hand", "brief": "b", "title": "t", "files": []any{"a.go"}, "include_contents": "full"},
			wire.Request{
				Kind: wire.RequestDelegate, Role: "hand", Brief: "b", Title: "t", Files: []string{"a.go"}, IncludeContents: spec.IncludeFull,
			},
			tool.Waits, "waits for hand: t",
		},
		spec.ToolTransfer: {
			map[string]any{"role": "reader", "brief": " b "},
			wire.Request{Kind: wire.RequestTransfer, Role: "reader", Brief: "b"},
			tool.Waits, "hands its task over to reader",
		},
		spec.ToolAsk: {
			map[string]any{"question": "q?", "options": []any{"x", "y"}},
			wire.Request{Kind: wire.RequestAsk, Question: "q?", Options: []string{"x", "y"}},
			tool.Asks, "asks: q?",
		},
		spec.ToolRequestScope: {
			map[string]any{"paths": []any{"a.go", "b/**"}, "reason": "r"},
			wire.Request{Kind: wire.RequestScope, Paths: []string{"a.go", "b/**"}, Reason: "r"},
			tool.Asks, "asks to write a.go, b/**",
		},
		Send: {
			map[string]any{"task": "one", "text": "x"},
			wire.Request{Kind: wire.RequestSend, Task: "one", Text: "x"},
			tool.Waits,
			"writes to one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{}
			set := requestSet(t, d, func(_, _ []string) {})
			call := tool.Call{ID: "7", Name: name, Args: c.args}
			require.Equal(t, c.effect, set.Effect(call))
			require.True(t, c.effect.Waiting())
			require.Equal(t, c.doing, set.Doing(call))
			require.False(t, set.Run(t.Context(), call).Err)
			require.Equal(t, []wire.Request{c.want}, d.asked)
			require.Equal(t, "7", d.call)

			d.answer.Refused = "because"
			r := set.Run(t.Context(), call)
			require.True(t, r.Err)
			require.False(t, r.Ends, "what is refused ends nothing")
			require.Equal(t, "because", r.Output["error"])
			d.err = errors.New("the log is away")
			require.Contains(t, set.Run(t.Context(), call).Output["error"], "the log is away")
			require.True(t, set.Run(t.Context(), tool.Call{Name: name}).Err, "its arguments are missing")
		})
	}
}

func TestDelegateTellsItsRolesAndEveryPartOfTheHandoff(t *testing.T) {
	t.Parallel()
	d := &desk{answer: wire.Answer{
		Task: "t-hand-1-0", Status: spec.StatusDone, Usage: spec.Usage{Prompt: 5, Output: 2}, Text: "it landed",
		Handoff: spec.Handoff{
			Summary: "s", Findings: []string{"f"}, Artifacts: []string{"artifact:a@1"}, Output: json.RawMessage(`{"n":1}`),
			Constraints: []spec.ConstraintEcho{{Text: "c", Note: "n"}},
		},
	}}
	set := requestSet(t, d, nil)
	delegate, err := set.Lookup(spec.ToolDelegate)
	require.NoError(t, err)
	description := delegate.Declaration().Description
	require.Contains(t, description, "\n- reader: reads well\n- hand (writes)")
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolDelegate, Args: map[string]any{"role": "hand", "brief": "b"}})
	require.False(t, r.Err)
	require.Zero(t, r.Usage, "the child's account has it already")
	text, err := json.Marshal(r.Output)
	require.NoError(t, err)
	require.JSONEq(t, `{"task":"t-hand-1-0","status":"done","tokens":7,"summary":"s","findings":["f"],"artifacts":["artifact:a@1"],
		"broken_constraints":[{"text":"c","kept":false,"note":"n"}],"result":{"n":1},"note":"it landed"}`, string(text))
	d.answer = wire.Answer{Status: spec.StatusFailed, Fault: &spec.Fault{Class: "parked", Message: "no"}}
	r = set.Run(t.Context(), tool.Call{Name: spec.ToolDelegate, Args: map[string]any{"role": "hand", "brief": "b"}})
	require.True(t, r.Err)
	require.Equal(t, "parked: no", r.Output["error"])
}

func TestATransferEndsTheAttempt(t *testing.T) {
	t.Parallel()
	set := requestSet(t, &desk{}, nil)
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolTransfer, Args: map[string]any{"role": "hand", "brief": "the rest"}})
	require.True(t, r.Ends)
	require.Equal(t, "the rest", r.Submit.Summary)
}

func TestAScopeGrowsByWhatIsGrantedAndNothingElse(t *testing.T) {
	t.Parallel()
	scope := files.NewScope(spec.WriteSet{Files: []string{"a.go"}, Protected: []string{"**/*_test.go"}})
	set := requestSet(t, &desk{answer: wire.Answer{Granted: []string{"b.go"}, Text: "yours"}}, scope.Grow)
	require.NotEmpty(t, scope.Refuse("b.go"))
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolRequestScope, Args: map[string]any{"paths": []any{"b.go", "c.go"}, "reason": "r"}})
	require.Equal(t, "yours", r.Output["output"])
	require.Empty(t, scope.Refuse("b.go"))
	require.NotEmpty(t, scope.Refuse("c.go"))
	require.NotEmpty(t, scope.Refuse("b_test.go"))
	require.Equal(t, []string{"a.go", "b.go"}, scope.Set().Files)

	unlocks := wire.Answer{Granted: []string{"b_test.go"}, Unlocked: []string{"b_test.go"}}
	set = requestSet(t, &desk{answer: unlocks}, scope.Grow)
	set.Run(t.Context(), tool.Call{Name: spec.ToolRequestScope, Args: map[string]any{"paths": []any{"b_test.go"}, "reason": "r"}})
	require.Empty(t, scope.Refuse("b_test.go"), "a person granted it")
	require.NotEmpty(t, scope.Refuse("c_test.go"))
}
