package plan

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/finding"
)

// What the plan of a template has not said of its shards needs an approval.
func TestShardsBeyondTheirPlan(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"a.go": "x", "b.go": "x"}, shards: []string{"a.go", "b.go"}}
	by := func(by string) *spec.Shard { return &spec.Shard{By: by} }
	for name, c := range map[string]struct {
		shard   *spec.Shard
		role    string
		ceiling int
		want    bool
	}{
		"by command":                          {shard: &spec.Shard{By: "command", Command: []string{"x"}}, role: "gen", want: true},
		"by command, with a coding agent":     {shard: &spec.Shard{By: "command", Command: []string{"x"}}, role: "agent", want: true},
		"by command, without a model":         {shard: &spec.Shard{By: "command", Command: []string{"x"}}, role: "mod"},
		"a round":                             {shard: by(spec.ByFinding), role: "gen", want: true},
		"a round of a coding agent":           {shard: by(spec.ByFinding), role: "agent", want: true},
		"a round without a model":             {shard: by(spec.ByFinding), role: "mod"},
		"by file, as the plan said":           {shard: by("file"), role: "gen", ceiling: 2000},
		"by file, more than the plan said":    {shard: by("file"), role: "gen", ceiling: 1999, want: true},
		"by file, where none matched before":  {shard: by("file"), role: "gen", want: true},
		"by file, a coding agent, as it said": {shard: by("file"), role: "agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := run.NewState()
			st.Spec.Roles = map[string]spec.Role{
				"gen": {Executor: spec.ExecutorModel, Limits: spec.Limits{Tokens: 1000}}, "mod": {Executor: spec.ExecutorCommand},
				"agent": {Executor: spec.ExecutorCommand, Usage: spec.AgentClaude},
			}
			if c.shard.Glob = "*.go"; c.shard.By == "command" {
				c.shard.Glob = ""
			}
			template := &run.Task{Task: spec.Task{ID: "all", Role: c.role, Brief: "b", Attempts: 1, Mends: []string{"lint"}, Shard: c.shard}}
			st.Plans.All = []run.PlanData{{By: run.MasterTask, Later: []run.Later{{Task: template.Task, Ceiling: c.ceiling}}}}
			e := run.Expand{Template: template}
			objects := map[string][]byte{}
			if template.Task.ByFindings() {
				put := func(_ context.Context, name string, b []byte) error { objects[name] = b; return nil }
				list := finding.List{Findings: []spec.Finding{{Signature: "a.go: x", File: "a.go"}, {Signature: "b.go: x", File: "b.go"}}}
				var err error
				e.Findings, err = finding.Store(t.Context(), put, list)
				require.NoError(t, err)
				e.Round = &run.Round{Number: 1}
			}
			get := func(_ context.Context, name string) ([]byte, error) { return objects[name], nil }
			d, problems, err := Expand(t.Context(), e, &st.Agenda, st.Works, tree, get)
			require.NoError(t, err)
			require.Empty(t, problems)
			require.Len(t, d.Tasks, 2)
			require.Equal(t, c.want, d.Beyond)
			if e.Round != nil {
				require.Equal(t, "all (round 1: a.go)", d.Tasks[0].Title)
			}
		})
	}
}
