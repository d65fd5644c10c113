package view

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestCILines(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	require.NoError(t, json.Unmarshal([]byte(`{"run": "r", "project": {}}`), &s.Spec), "the log of a program that did not read CI")
	require.Empty(t, CILines(s), "nothing is known")

	s.Spec.CI = &run.CI{Commands: 3, Run: 1, Unrun: []run.Unrun{
		{Command: "gofmt -l .", Place: "ci.yml:3", Why: "left out", Paths: []string{"**/*.go"}},
		{Command: "make db", Place: "ci.yml:4", Why: "it needs the service db"},
	}}
	require.Equal(t, []string{"gates run 1 of 3 commands of CI"}, CILines(s))
	patch := run.Kept{Patch: &spec.Patch{Files: []string{"b.md", "d/a.go"}}}
	s.Tasks.ByID["a"] = &run.Task{State: run.TaskLanded, Kept: []run.Kept{patch}}
	require.Equal(t, []string{
		"gates run 1 of 3 commands of CI", "no gate runs gofmt -l . (ci.yml:3: left out), which CI checks d/a.go with",
	}, CILines(s))
}
