package modeltest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
)

// arguments: what a call carries comes through whole, and each call is shown once.
func arguments(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{text: "see", calls: [
	  {name: first, args: {n: 3, f: 1.5, yes: true, none: null, s: "<a> & \u00e9\n\"q\"", deep: {list: [a, {b: []}]}}},
	  {name: second}]}]}]`)
	var shown []*genai.Part
	var res *model.Result
	for ev, err := range m.Generate(t.Context(), Ask("t", "x")) {
		require.NoError(t, err)
		require.False(t, ev.Restart)
		if res = ev.Result; res == nil {
			shown = append(shown, ev.Delta)
		}
	}
	parts := res.Content.Parts
	require.Len(t, parts, 3)
	require.Equal(t, parts[1:], shown[len(shown)-2:])
	require.Equal(t, map[string]any{
		"n": 3.0, "f": 1.5, "yes": true, "none": nil, "s": "<a> & \u00e9\n\"q\"",
		"deep": map[string]any{"list": []any{"a", map[string]any{"b": []any{}}}},
	}, parts[1].FunctionCall.Args)
	require.Equal(t, "second", parts[2].FunctionCall.Name)
	require.Empty(t, parts[2].FunctionCall.Args)
}

// systemAndTools: the instruction arrives, and one tool of many can be asked for.
func systemAndTools(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{text: '{{capture "Be (\\w+)"}}'}]}]`)
	req := Ask("t", "x")
	req.Config = fullConfig()
	req.Config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
		Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"read"},
	}}
	require.Equal(t, "brief", answered(t, m, req).Content.Parts[0].Text)
}

// steered: a content may bring results and, behind them, a person's message.
func steered(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{text: "first", calls: [{name: read, args: {path: a}}]},
	  {text: '{{result "read"}}; {{captureLast "Stop: (\\w+)"}}'}]}]`)
	req := Ask("t", "go")
	res := answered(t, m, req)
	results := Respond(res.Content)
	results.Parts = append(results.Parts, &genai.Part{Text: "Stop: here"})
	req.Contents, req.Meta.Turn = append(req.Contents, res.Content, results), 2
	require.Equal(t, "content of a; here", answered(t, m, req).Content.Parts[0].Text)
}

func outputLimit(t *testing.T, mk Maker) {
	res := answered(t, mk(t, `rules: [{steps: [{fault: max_tokens, text: "one two "}]}]`), Ask("t", "x"))
	require.Equal(t, genai.FinishReasonMaxTokens, res.Finish)
	require.Equal(t, "one ", res.Content.Parts[0].Text)
}

// oneError: an error is the last that comes, also when some of the answer came before.
func oneError(t *testing.T, mk Maker) {
	for fault, class := range faultClasses() {
		errs := 0
		for ev, err := range mk(t, `rules: [{steps: [{fault: "`+fault+`"}]}]`).Generate(t.Context(), Ask("t", "x")) {
			require.Zero(t, errs, fault)
			require.Nil(t, ev.Result, fault)
			if err != nil {
				errs++
				require.Nil(t, ev.Delta, fault)
				require.Contains(t, err.Error(), string(class))
				require.NotEmpty(t, strings.TrimSpace(model.AsError(err).Message), fault)
			}
		}
		require.Equal(t, 1, errs, fault)
	}
}

// lazy: a call without a range over it is not made.
func lazy(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{fault: 503, times: 1, text: hi}]}]`)
	_ = m.Generate(t.Context(), Ask("t", "x"))
	_, err := Collect(t.Context(), m, Ask("t", "x"))
	require.NotNil(t, err, "this is the first try")
}

func deadline(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{fault: hang, text: "one two"}]}]`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := Collect(ctx, m, Ask("t", "x"))
	require.Equal(t, model.Cancelled, err.Class)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Collect(over, m, Ask("t", "x"))
	require.Equal(t, model.Cancelled, err.Class, "also before anything is sent")
}

// brokenIsPaid: what had begun cost its prompt, whatever became of it.
func brokenIsPaid(t *testing.T, mk Maker) {
	for _, fault := range []string{"cut", "clean_cut", "malformed_json", "error"} {
		_, err := Collect(t.Context(), mk(t, `rules: [{steps: [{fault: "`+fault+`"}]}]`), Ask("t", "x"))
		require.Equal(t, 1, err.Usage.Calls, fault)
		require.Positive(t, err.Usage.Prompt, fault)
	}
	_, err := Collect(t.Context(), mk(t, `rules: [{steps: [{fault: 503}]}]`), Ask("t", "x"))
	require.Zero(t, err.Usage, "a refusal costs nothing")
}
