package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// A task that needs a gate waits for those that mend it, while the gate cannot be compared or hides its files.
func TestTasksWaitForWhatIsMended(t *testing.T) {
	t.Parallel()
	findings := spec.Receipt{Gate: "build", Kind: spec.KindFindings, ExitCode: 1, Verdict: spec.VerdictFail, Signatures: []string{"a/a.go: x"}}
	hides, opaque := findings, findings
	hides.Hidden, opaque.Kind = []string{"package: a"}, ""
	const waits = "waits for m, which mends gate build"
	for name, c := range map[string]struct {
		base    *spec.Receipt
		files   []string
		gates   []string
		mended  run.TaskState
		allowed bool
		want    string
	}{
		"nothing is known yet":       {nil, []string{"b/b.go"}, nil, "", false, waits},
		"it can be compared":         {&findings, []string{"a/a.go"}, nil, "", false, ""},
		"it cannot be compared":      {&opaque, []string{"b/b.go"}, nil, "", false, waits},
		"its files are hidden":       {&hides, []string{"a/new.go"}, nil, "", false, waits},
		"other files are hidden":     {&hides, []string{"b/b.go"}, nil, "", false, ""},
		"it may change any file":     {&hides, nil, nil, "", false, waits},
		"it does not run the gate":   {&opaque, []string{"b/b.go"}, []string{"test"}, "", false, ""},
		"mended in vain":             {&opaque, []string{"b/b.go"}, nil, run.TaskParked, false, "gate build, which m should mend, proves nothing yet: it fails, and its output names no test that passed (a linter or compiler needs `format: findings`)"},
		"mended in vain, unverified": {&opaque, []string{"b/b.go"}, nil, run.TaskParked, true, ""},
		"hidden still":               {&hides, []string{"a/new.go"}, nil, run.TaskLanded, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := runtest.New(t, run.Spec{
				AllowUnverified: c.allowed, Parallel: 9, AutoApprove: true, Roles: map[string]spec.Role{"sh": {Name: "sh", Writes: true}},
				Project: spec.Project{Gates: []spec.Gate{{Name: "build"}, {Name: "test"}}},
			}, run.Running)
			if c.base != nil {
				l.Append("", run.Data{Baseline: []spec.Receipt{*c.base, {Gate: "test", Verdict: spec.VerdictPass}}})
			}
			l.Plan(spec.Task{ID: "t", Role: "sh", Files: c.files, Gates: c.gates}, spec.Task{ID: "m", Role: "sh", Files: []string{"c/c.go"}, Mends: []string{"build"}})
			if c.mended != "" {
				l.Append("m", run.TaskData{State: c.mended})
			} else {
				l.Dispatched("m", "sh", 1, "b")
			}
			require.Equal(t, c.want, schedule.Why(l.State)["t"])
		})
	}
	l := runtest.New(t, run.Spec{Parallel: 9, Roles: map[string]spec.Role{"sh": {Name: "sh", Writes: true}}, Project: spec.Project{Gates: []spec.Gate{{Name: "build"}}}}, run.Running)
	l.Plan(spec.Task{ID: "t", Role: "sh", Files: []string{"a"}}, spec.Task{ID: "m", Role: "sh", Files: []string{"c"}, Mends: []string{"build"}, DependsOn: []string{"t"}})
	require.Equal(t, map[string]string{"m": "waits for t"}, schedule.Why(l.State), "no task waits for one that waits for it")
}
