package worker

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/wire"
)

func TestAJudgesTurnIsExplainedByWhatItWasShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(&modeltest.Script{Steps: []modeltest.Step{writesFile("a.txt", "changed line\n"), modeltest.Submits("ok")}}, "generator")
	gen := s.assignment(writer, "t1")
	s.enqueue(gen)
	m := &modeltest.Script{Steps: []modeltest.Step{judges(map[string]any{
		"summary": "s", "output": map[string]any{"verdict": "pass", "reasons": []any{}},
		"constraints": []any{item(1, true, "")},
	})}}
	a := s.assignment(spec.Role{Name: "tester", Executor: spec.ExecutorModel, Model: "m"}, "t1--verify")
	a.Patch, a.Task.Constraints = s.result(gen).Patch, []string{"keep the API"}
	s.work(m, "tester")
	s.enqueue(a)
	require.Equal(t, spec.StatusDone, s.result(a).Status)

	x, err := Explain(t.Context(), s.bus, s.mirror, a, nil)
	require.NoError(t, err)
	seen, err := x.Turn(t.Context(), 1)
	require.NoError(t, err)
	sent := m.Sent()[0]
	require.Equal(t, sent.Contents[0].Parts[0].Text, seen.Contents[0].Parts[0].Text)
	require.Contains(t, seen.Contents[0].Parts[0].Text, "+changed line")
	require.Contains(t, seen.Contents[0].Parts[0].Text, "The constraints are your checklist.")
	require.Equal(t, sent.Config.Tools, seen.Tools)
}

// A judge whose words are no verdict, or two, has none: its task is judged again.
func TestAJudgeThatMakesNoSenseHasNoVerdict(t *testing.T) {
	t.Parallel()
	broken := []spec.ConstraintEcho{{Text: "Keep it.", Note: "a.go:1"}}
	for name, c := range map[string]struct {
		output, class, message string
		constraints            []spec.ConstraintEcho
	}{
		"no object":                       {`"pass"`, wire.FaultNoResult, "the judge's verdict could not be read: ", nil},
		"nothing":                         {``, wire.FaultNoResult, "the judge's verdict could not be read: ", nil},
		"another word":                    {`{"verdict": "maybe"}`, wire.FaultNoResult, `the judge said neither pass nor fail but "maybe"`, nil},
		"both":                            {`{"verdict": "pass fail", "reasons": ["x"]}`, wire.FaultNoResult, "the judge said neither pass nor fail", nil},
		"a fault that it does not name":   {`{"verdict": "fail"}`, wire.FaultNoResult, "it fails the patch and reports no fault", nil},
		"a pass with a broken rule":       {`{"verdict": "pass"}`, wire.FaultNoResult, "it passes the patch and reports: Not kept: Keep it. (a.go:1)", broken},
		"a fail with a broken rule":       {`{"verdict": "fail"}`, wire.FaultConstraint, "its judge reports: Not kept: Keep it. (a.go:1)", broken},
		"a fail with a reason of no rule": {`{"verdict": "fail", "reasons": ["x"]}`, wire.FaultVerdict, "the patch is not the requested change", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := decided(spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{
				Output: json.RawMessage(c.output), Constraints: c.constraints,
			}})
			require.Equal(t, spec.StatusFailed, r.Status)
			require.Equal(t, c.class, r.Error.Class)
			require.Contains(t, r.Error.Message, c.message)
		})
	}
}
