package result

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// patched has a task hand in a patch of some files, and accept it with a doubt where there is one.
func patched(l *runtest.Log, id string, made []string, doubt *run.Doubt, files ...string) {
	l.Dispatched(id, "generator", 1, "b")
	r := runtest.Patched("c-"+id, "t-"+id, "b")
	r.Patch.Files, r.Patch.Created = append(files, made...), made
	l.Ended(id, 1, r)
	if doubt != nil {
		l.Append(id, run.TaskData{State: run.TaskHeld, Doubt: doubt})
		a := &run.Decided{Kind: run.DecidePatch, Closed: true, Answer: run.Answer{ID: id, Option: run.Accept, By: "ada"}}
		l.Append(id, run.TaskData{State: run.TaskAccepted, Decision: a})
		return
	}
	l.Append(id, run.TaskData{State: run.TaskAccepted})
}

// lands is a task that landed with so many lines.
func lands(id string, lines int, unverified string) run.Landed {
	return run.Landed{Task: id, Attempt: 1, Commit: "l-" + id, Added: lines, Files: 1, Unverified: unverified}
}

func newEnded(t *testing.T) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Goal: "Rename all", Roles: runtest.Roles()}
	s.Project.Gates = []spec.Gate{{Name: "build"}, {Name: "test"}}
	l := runtest.New(t, s, run.Running)
	var tasks []spec.Task
	for _, id := range []string{"small", "big", "tests", "new", "doubted", "unproven", "lost", "same"} {
		tasks = append(tasks, spec.Task{ID: id, Title: "Title of " + id, Role: "generator"})
	}
	l.Plan(tasks...)
	patched(l, "small", nil, nil, "a/x/one.go", "a/y/two.go")
	patched(l, "big", nil, nil, "a/x/big.go")
	patched(l, "tests", nil, nil, "a/x/one_test.go")
	patched(l, "new", []string{"b/new_test.go"}, nil)
	patched(l, "doubted", nil, &run.Doubt{Attempt: 1, Evidence: []string{"it skips a test", "it is long"}}, "a/x/d.go")
	patched(l, "unproven", nil, nil, "top.sh")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Tasks: []run.Landed{
		lands("small", 2, ""), lands("big", 60, ""), lands("tests", 3, ""), lands("new", 3, ""), lands("doubted", 1, ""),
		lands("unproven", 5, "no gate reads top.sh"),
	}})
	l.Append("lost", run.TaskData{State: run.TaskParked, Reason: "no result"})
	l.Append("same", run.TaskData{State: run.TaskDone})
	return l
}

func TestAResult(t *testing.T) {
	t.Parallel()
	l := newEnded(t)
	require.Nil(t, Of(l.State), "it has not ended")
	l.Append("", run.Data{State: run.Parked, Final: []spec.Receipt{
		{Gate: "build", Verdict: spec.VerdictPass}, {Gate: "test", Verdict: spec.VerdictFail},
	}})
	r := Of(l.State)
	require.Equal(t, "Rename all", r.Asked)
	require.Equal(t, []string{
		"5 landed, proven by gates: build", "1 landed unverified: 1 of 6 landed patches (unproven): no gate reads top.sh",
		"1 needed no change",
	}, text.Each(r.Came))
	require.Equal(t, []string{
		"a/x: 3 files, +64 -0, 3 tasks", ".: 1 file, +5 -0, 1 task", "b: 1 file, +3 -0, 1 task", "a: 1 file, +2 -0, 1 task",
	}, text.Each(r.Directories))
	require.Equal(t, []string{
		"unproven (+5 -0): unverified: no gate reads top.sh", "doubted (+1 -0): accepted by ada: it skips a test and 1 more",
		"tests (+3 -0): changes tests: a/x/one_test.go", "big (+60 -0): 60 lines",
	}, text.Each(r.Risks))
	l.Tasks.ByID["tests"].Tried = &run.Trial{Run: 1}
	require.Equal(t, "tests (+3 -0): changes tests that were not tried (no experiment could be made): a/x/one_test.go",
		Risks(l.State)[2].String())
	require.Equal(t, []string{"lost is parked: no result; try it again with: divisi retry r1 lost"}, text.Each(r.Left))
}

// The riskiest come first whatever their places in the plan are, and a list is bounded.
func TestRisksAreOrderedAndBounded(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Plan: &spec.Plan{Tasks: []spec.Task{{ID: "one"}}}}, run.Running)
	var tasks []spec.Task
	var landed []run.Landed
	for i := range 14 {
		id := fmt.Sprintf("t%02d", i)
		tasks, landed = append(tasks, spec.Task{ID: id, Role: "generator"}), append(landed, lands(id, i, "no gate"))
	}
	l.Plan(tasks...)
	for i := range tasks {
		patched(l, tasks[i].ID, nil, nil, fmt.Sprintf("d%02d/a.go", i))
	}
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Tasks: landed})
	l.Append("", run.Data{State: run.Done})
	r := Of(l.State)
	require.Equal(t, ": one", r.Asked)
	require.Len(t, r.Risks, maxRisks)
	require.Equal(t, "t13", r.Risks[0].Task)
	require.Equal(t, 4, r.RisksMore)
	require.Len(t, r.Directories, maxDirectories)
	require.Equal(t, "3 others: 3 files, +3 -0, 3 tasks", r.Directories[maxDirectories-1].String())
}
