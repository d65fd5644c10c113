package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func submitWith(t *testing.T, constraints ...string) func(constraintsArg any) Result {
	t.Helper()
	submit, err := newSubmitResult(nil, constraints)
	require.NoError(t, err)
	set, err := NewSet(nil, submit)
	require.NoError(t, err)
	return func(arg any) Result {
		args := args{"summary": "done"}
		if arg != nil {
			args["constraints"] = arg
		}
		return set.Run(t.Context(), Call{Name: spec.ToolSubmitResult, Args: args})
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
		"one-missing": {list{args{"number": 1, "kept": true}, args{"text": "tabs", "kept": true}}, []string{"nothing of constraint 2"}},
		"unknown": {
			list{args{"number": 4, "kept": true}, args{"number": 0, "kept": true}, args{"text": "other", "kept": true}, args{"kept": true}},
			[]string{"constraints[0] is none of", "constraints[1] is none", "constraints[2] is none", "constraints[3] is none", "numbered 1 to 3"},
		},
		"twice": {list{args{"number": 1, "kept": true}, args{"text": "keep the API", "kept": true}}, []string{"constraints[1]: constraint 1 is there twice"}},
		"broken-without-reason": {
			list{args{"number": 1, "kept": false, "note": "  "}}, []string{"constraint 1 is not kept, and no note says why"},
		},
		"no-verdict": {list{args{"number": 1}}, []string{"constraints[0]: missing: kept"}},
		"wrong-type": {list{args{"number": "1", "kept": true}}, []string{"constraints[0].number: is of type string"}},
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
		args{"text": " tabs ", "kept": false, "note": "generated code"},
		args{"number": 1, "text": "whatever", "kept": true},
		args{"number": 2, "kept": true, "note": "see the diff"},
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
		submit, err := newSubmitResult(nil, constraints)
		require.NoError(t, err)
		text, err := json.Marshal(submit.Declaration().ParametersJsonSchema)
		require.NoError(t, err)
		return string(text)
	}
	require.NotContains(t, shown(), "constraints")
	require.Equal(t, shown("a"), shown("b", "c"), "what is declared is the same for all tasks with constraints")
	require.Contains(t, shown("a"), `"required":["summary","constraints"]`)
}

func TestSubmitRefusesWhatNobodyCouldReadAndCutsNothing(t *testing.T) {
	t.Parallel()
	submit, err := newSubmitResult(nil, nil)
	require.NoError(t, err)
	set, err := NewSet(nil, submit)
	require.NoError(t, err)
	long := strings.Repeat("x", maxHandoff-100)
	r := set.Run(t.Context(), Call{Name: spec.ToolSubmitResult, Args: args{"summary": long}})
	require.True(t, r.Ends)
	require.Equal(t, long, r.Submit.Summary)
	r = set.Run(t.Context(), Call{Name: spec.ToolSubmitResult, Args: args{"summary": long, "findings": []any{long}}})
	require.True(t, r.Err)
	require.Nil(t, r.Submit)
	require.Contains(t, r.Output["error"], "at most 131072 are taken: nothing was submitted")
}
