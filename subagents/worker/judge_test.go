package worker

import (
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"

	"github.com/stretchr/testify/require"
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
	require.Contains(t, seen.Contents[0].Parts[0].Text, checklist)
	require.Equal(t, sent.Config.Tools, seen.Tools)
}
