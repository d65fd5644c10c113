package team

import (
	"encoding/json"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

func submitWith(t *testing.T, constraints ...string) func(constraintsArg any) tool.Result {
	t.Helper()
	set := newBench(t, func(c *Config) { c.Constraints = constraints }).Set
	return func(arg any) tool.Result {
		args := tooltest.Args{"summary": "done"}
		if arg != nil {
			args["constraints"] = arg
		}
		return set.Run(t.Context(), tool.Call{Name: spec.ToolSubmitResult, Args: args})
	}
}

func TestSubmitWantsAnEchoOfEachConstraint(t *testing.T) {
	t.Parallel()
	submit := submitWith(t, "keep the API", "no new files", "tabs")
	type list = []any
	tests := map[string]struct {
		arg  any
		says []string
	}{
		"none": {nil, []string{
			"constraints says nothing of constraint 1: keep the API", "constraint 2: no new files", "constraint 3: tabs",
		}},
		"one-missing": {list{tooltest.Args{"number": 1, "kept": true}, tooltest.Args{"text": "tabs", "kept": true}}, []string{"nothing of constraint 2"}},
		"unknown": {
			list{tooltest.Args{"number": 4, "kept": true}, tooltest.Args{"number": 0, "kept": true}, tooltest.Args{"text": "other", "kept": true}, tooltest.Args{"kept": true}},
			[]string{"constraints[0] is none of", "constraints[1] is none", "constraints[2] is none", "constraints[3] is none", "numbered 1 to 3"},
		},
		"twice": {list{tooltest.Args{"number": 1, "kept": true}, tooltest.Args{"text": "keep the API", "kept": true}}, []string{"constraints[1]: constraint 1 is there twice"}},
		"broken-without-reason": {
			list{tooltest.Args{"number": 1, "kept": false, "note": "  "}}, []string{"constraint 1 is not kept, and has no note"},
		},
		"no-verdict": {list{tooltest.Args{"number": 1}}, []string{"constraints[0]: missing: kept"}},
		"wrong-type": {list{tooltest.Args{"number": "1", "kept": true}}, []string{"constraints[0].number: is of type string"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := submit(tt.arg)
			require.True(t, r.Err)
			require.False(t, r.Ends)
			require.Nil(t, r.Submit)
			for _, says := range tt.says {
				require.Contains(t, r.Output["error"], says)
			}
		})
	}
	r := submit(list{
		tooltest.Args{"text": " tabs ", "kept": false, "note": "generated code"},
		tooltest.Args{"number": 1, "text": "whatever", "kept": true},
		tooltest.Args{"number": 2, "kept": true, "note": "see the diff"},
	})
	require.True(t, r.Ends, "%v", r.Output)
	require.Equal(t, []spec.ConstraintEcho{
		{Text: "keep the API", Kept: true},
		{Text: "no new files", Kept: true, Note: "see the diff"},
		{Text: "tabs", Note: "generated code"},
	}, r.Submit.Constraints, "in the task's order")
}

func TestSubmitKnowsNoConstraintsWhereThereAreNone(t *testing.T) {
	t.Parallel()
	r := submitWith(t)(nil)
	require.True(t, r.Ends)
	require.Nil(t, r.Submit.Constraints)
	require.Contains(t, submitWith(t)([]any{}).Output["error"], `there is no argument "constraints"`)

	shown := func(constraints ...string) string {
		all, err := Tools(Config{Constraints: constraints})
		require.NoError(t, err)
		text, err := json.Marshal(all[0].Declaration().ParametersJsonSchema)
		require.NoError(t, err)
		return string(text)
	}
	require.NotContains(t, shown(), "constraints")
	require.Equal(t, shown("a"), shown("b", "c"), "what is declared is the same for all tasks with constraints")
	require.Contains(t, shown("a"), `"required":["summary","constraints"]`)
}

func TestSubmitRefusesWhatNobodyCouldReadAndCutsNothing(t *testing.T) {
	t.Parallel()
	set := newBench(t, nil).Set
	long := strings.Repeat("x", maxHandoff-100)
	r := set.Run(t.Context(), tool.Call{Name: spec.ToolSubmitResult, Args: tooltest.Args{"summary": long}})
	require.True(t, r.Ends)
	require.Equal(t, long, r.Submit.Summary)
	r = set.Run(t.Context(), tool.Call{Name: spec.ToolSubmitResult, Args: tooltest.Args{"summary": long, "findings": []any{long}}})
	require.True(t, r.Err)
	require.Nil(t, r.Submit)
	require.Contains(t, r.Output["error"], "at most 131072 are allowed: nothing was submitted")
}

func TestSubmitResult(t *testing.T) {
	t.Parallel()
	var store tooltest.Store
	_, err := store.Put(t.Context(), "h", []byte("x"))
	require.NoError(t, err)
	b := newBench(t, func(e *Config) {
		e.Output = json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/count"}},"required":["n"],
			"$defs":{"count":{"type":"integer"}},"additionalProperties":false}`)
		e.Artifacts = &store
	})
	r := b.Run(spec.ToolSubmitResult, tooltest.Args{
		"summary": " done ", "findings": []any{"a.go:1 x"}, "deviations": []any{},
		"artifacts": []any{"h"}, "output": tooltest.Args{"n": 3},
	})
	require.False(t, r.Err, "%v", r.Output)
	require.True(t, r.Ends)
	require.Equal(t, &spec.Handoff{
		Summary: "done", Findings: []string{"a.go:1 x"}, Deviations: []string{}, Artifacts: []string{"h"}, Output: json.RawMessage(`{"n":3}`),
	}, r.Submit)

	said := b.Fails(spec.ToolSubmitResult, tooltest.Args{"summary": "x", "artifacts": []any{"h", "lost"}, "output": tooltest.Args{"n": 3}})
	require.Contains(t, said, `artifact "lost" cannot be read by others`)
	require.NotContains(t, said, `"h"`)
	said = b.Fails(spec.ToolSubmitResult, tooltest.Args{"findings": "x", "output": tooltest.Args{"n": "three", "m": 1}})
	require.Contains(t, said, "missing: summary")
	require.Contains(t, said, "findings: is of type string")
	require.Contains(t, said, "output.n: is of type string and must be integer")
	require.Contains(t, said, `output: there is no argument "m"`)
	require.Contains(t, b.Fails(spec.ToolSubmitResult, tooltest.Args{"summary": " ", "output": tooltest.Args{"n": 1}}), "summary is empty")
	require.Contains(t, b.Fails(spec.ToolSubmitResult, tooltest.Args{"summary": "x"}), "missing: output")
}

func TestSubmitResultTakesTheNameThatAnArtifactWasSavedUnder(t *testing.T) {
	t.Parallel()
	var store tooltest.Store
	_, err := store.Put(t.Context(), "h", []byte("x"))
	require.NoError(t, err)
	b := newBench(t, func(e *Config) {
		e.Artifacts, e.Named = &store, func(name string) string { return map[string]string{"report": "h"}[name] }
	})
	r := b.Run(spec.ToolSubmitResult, tooltest.Args{"summary": "x", "artifacts": []any{"report", "h"}})
	require.False(t, r.Err, "%v", r.Output)
	require.Equal(t, []string{"h"}, r.Submit.Artifacts)
}

func TestSubmitResultWithoutASchema(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r := b.Run(spec.ToolSubmitResult, tooltest.Args{"summary": "s"})
	require.True(t, r.Ends)
	require.Contains(t, b.Fails(spec.ToolSubmitResult, tooltest.Args{"summary": "s", "output": tooltest.Args{}}), `no argument "output"`)
	_, err := Tools(Config{Output: json.RawMessage(`[`)})
	require.ErrorContains(t, err, "output schema")
}

func TestUpdatePlanKeepsTheAgentsPlan(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r := b.Run(spec.ToolUpdatePlan, tooltest.Args{"items": []any{
		"done: read the callers", " Doing : half\nway \x1b[31m" + strings.Repeat("x", 500), "todo:run the tests: all of them",
	}})
	require.False(t, r.Err)
	require.Equal(t, map[string]any{"output": "noted"}, r.Output)
	require.Equal(t, spec.Step{State: spec.StepDone, Text: "read the callers"}, r.Steps[0])
	require.Equal(t, spec.StepDoing, r.Steps[1].State)
	require.True(t, strings.HasPrefix(r.Steps[1].Text, "half way [31mx"), r.Steps[1].Text)
	require.Len(t, []rune(r.Steps[1].Text), 120)
	require.Equal(t, spec.Step{State: spec.StepToDo, Text: "run the tests: all of them"}, r.Steps[2])

	said := b.Fails(spec.ToolUpdatePlan, tooltest.Args{"items": []any{"later: x", "x", "todo: \n", "doing: a", "done: b", "doing: c"}})
	for _, want := range []string{
		`item 1, "later: x", has no known state: done:, doing: or todo: begins an item`, `item 2, "x", has no known state`,
		"item 3 has no text after its state, todo", "items 4 and 6 are both doing: do one after the other", "the plan stays as it was",
	} {
		require.Contains(t, said, want)
	}
	require.Contains(t, b.Fails(spec.ToolUpdatePlan, tooltest.Args{"items": []any{}}), "has 0 items: keep from 1 to 20")
	many := make([]any, 21)
	for i := range many {
		many[i] = "todo: x"
	}
	require.Contains(t, b.Fails(spec.ToolUpdatePlan, tooltest.Args{"items": many}), "has 21 items: keep from 1 to 20")
}
