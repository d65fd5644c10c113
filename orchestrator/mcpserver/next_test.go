package mcpserver

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

// What the tools do is named as a tool, and the rest as a command for the person; a server that only reads has no tool that acts.
func TestNextStepsAreTools(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]way{
		"divisi show r1":              {Tool: "report", Arguments: map[string]any{"run": "r1"}},
		"divisi show r1/a":            {Tool: "tasks", Arguments: map[string]any{"run": "r1", "task": "a"}},
		"divisi watch r1":             {Tool: "wait", Arguments: map[string]any{"run": "r1"}},
		"divisi decide r1":            {Tool: "decisions", Arguments: map[string]any{"run": "r1"}},
		"divisi log r1/a":             {Tool: "log", Arguments: map[string]any{"run": "r1", "task": "a"}},
		"divisi resume r1":            {Tool: "resume", Arguments: map[string]any{"run": "r1"}},
		"divisi resume r1 --budget 9": {Command: "divisi --state-dir s resume r1 --budget 9"},
		"divisi retry r1":             {Tool: "retry", Arguments: map[string]any{"run": "r1"}},
		`divisi retry r1 a --brief "BRIEF"`: {
			Tool: "retry", Arguments: map[string]any{"run": "r1", "tasks": []any{"a"}}, Why: "do it: write it as the argument brief",
		},
		"divisi retry r1 --forgotten":         {Tool: "retry", Arguments: map[string]any{"run": "r1", "forgotten": true}},
		"divisi retry r1 a --role ROLE":       {Command: "divisi --state-dir s retry r1 a --role ROLE"},
		"divisi skip r1 a":                    {Tool: "skip", Arguments: map[string]any{"run": "r1", "tasks": []any{"a"}}},
		"divisi take r1/a DIR":                {Command: "divisi --state-dir s take r1/a DIR"},
		"git -C /r merge divisi/r1":           {Command: "git -C /r merge divisi/r1"},
		"divisi debug context r1/master":      {Command: "divisi --state-dir s debug context r1/master"},
		`divisi run "GOAL" --repo /r`:         {Command: `divisi --state-dir s run "GOAL" --repo /r`},
		"divisi line start r1":                {Command: "divisi --state-dir s line start r1"},
		"divisi memory proposals --repo /r":   {Command: "divisi --state-dir s memory proposals --repo /r"},
		"divisi resume r1 --allow-unverified": {Command: "divisi --state-dir s resume r1 --allow-unverified"},
	} {
		p := newPlace()
		want.Why = cmp.Or(want.Why, "do it")
		p.report = view.Report{Run: "r1", Next: []advice.Way{{Command: command, Why: "do it"}}}
		require.Equal(t, []way{want}, answered[reported](t, served(t, p, true), "report", ofRun{"r1"}).Next, command)
	}
	p := newPlace()
	p.report = view.Report{Run: "r1", Next: []advice.Way{{Command: "divisi pause r1"}, {Command: "divisi show r1"}}}
	next := answered[reported](t, served(t, p, false), "report", ofRun{"r1"}).Next
	require.Equal(t, []way{
		{Command: "divisi --state-dir s pause r1"}, {Tool: "report", Arguments: map[string]any{"run": "r1"}},
	}, next)
}
