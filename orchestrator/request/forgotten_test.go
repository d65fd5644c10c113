package request_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// lacking is a run whose tasks wait, parked: a and b alone, with the same forgotten file, s-1 and s-2 in a set, own with a failure of its own
// too, and after, which waits for a.
func lacking(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{
		Roles: runtest.Roles(), Plan: &spec.Plan{}, Project: spec.Project{Protected: []string{"Makefile"}},
	}, run.Running)
	task := func(id, set string) spec.Task {
		return spec.Task{ID: id, Role: "generator", Brief: "Do " + id + ".", ChangeSet: set, Files: []string{id + ".go"}}
	}
	after := task("after", "")
	after.DependsOn = []string{"a"}
	l.Plan(task("a", ""), task("b", ""), task("s-1", "s"), task("s-2", "s"), task("own", ""), after)
	red := &spec.Fault{Class: wire.FaultGate, Message: "red"}
	park := func(id string, only bool, files ...string) {
		d := run.TaskData{State: run.TaskParked, Fault: red}
		if len(files) > 0 {
			d.Forgotten = &run.Forgotten{Only: only, Head: "c-" + id}
		}
		for i, f := range files {
			d.Forgotten.Findings = append(d.Forgotten.Findings, spec.Finding{File: f, Line: i + 1, Message: "undefined: X", Source: "X()"})
		}
		if id == "s-2" {
			d.Fault = nil
		}
		l.Append(id, d)
	}
	for _, id := range []string{"a", "b", "s-1", "s-2", "own"} {
		l.Dispatched(id, "generator", 1, "h")
		l.Ended(id, 1, runtest.Patched("c-"+id, "t", "h"))
	}
	park("a", true, "cli/main.go")
	park("b", true, "cli/more.go", "cli/main.go")
	park("s-1", true, "lib/x.go")
	park("s-2", true)
	park("own", false, "own/x.go", "Makefile", "gone.go")
	l.Append("after", run.TaskData{State: run.TaskParked})
	return l
}

func TestForgottenFilesGetATask(t *testing.T) {
	t.Parallel()
	has := func(file string) bool { return file != "gone.go" }
	for name, c := range map[string]struct {
		refs  []string
		tasks []string
		then  []string
	}{
		"those that fail in one file are one set": {
			[]string{"a"},
			[]string{"forgotten in forgotten: [cli/main.go]"},
			[]string{"task forgotten pending", "task after pending"},
		},
		"a set gets one more task": {[]string{"s-2"}, []string{"forgotten in s: [lib/x.go]"}, []string{"task forgotten pending"}},
		"what failed by itself too begins again": {
			[]string{"own"}, []string{"forgotten in forgotten: [own/x.go]"}, []string{"task own pending tried again by user"},
		},
		"all": {
			nil, []string{
				"forgotten in forgotten: [cli/main.go cli/more.go]", "forgotten-2 in s: [lib/x.go]", "forgotten-3 in forgotten-3: [own/x.go]",
			}, []string{"task own pending tried again by user", "task after pending"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lacking(t)
			f, err := request.FindForgotten(&l.Agenda, c.refs, "", "", has)
			require.NoError(t, err)
			var tasks []string
			for _, task := range f.Tasks {
				tasks = append(tasks, fmt.Sprintf("%s in %s: %v", task.ID, task.ChangeSet, task.Files))
				require.Contains(t, task.Brief, "undefined: X\n    X()")
				require.Equal(t, "generator", task.Role)
			}
			require.Equal(t, c.tasks, tasks)
			actions, _ := request.Complete(&l.Agenda, f, run.PlanData{Tasks: f.Tasks, Joins: f.Joins}, wire.Person("ada"))
			require.Equal(t, c.then, runtest.Describe(actions)[1:])
			l.Do(actions)
			for set, ids := range f.Joins {
				for _, id := range ids {
					require.Equal(t, set, l.Tasks.ByID[id].Task.ChangeSet)
				}
			}
			if c.refs == nil {
				for _, id := range []string{"a", "b", "s-1", "s-2"} {
					require.Equal(t, run.TaskAccepted, l.Tasks.ByID[id].State, id)
				}
				require.True(t, l.Tasks.Sets["forgotten"].GivenUp() == false && !l.Tasks.Sets["forgotten"].Complete())
			}
		})
	}
}

func TestNothingForgottenIsRefused(t *testing.T) {
	t.Parallel()
	l := lacking(t)
	_, err := request.FindForgotten(&l.Agenda, []string{"own"}, "", "", func(file string) bool { return file == "Makefile" })
	require.EqualError(t, err, "Makefile is protected: add a task that names it in its files to the plan")
	_, err = request.FindForgotten(&l.Agenda, []string{"after"}, "", "", func(string) bool { return true })
	const nothing = "no parked task of run r1 fails in a file that no task may change: there is nothing to add"
	require.EqualError(t, err, nothing)
	l.Append("own", run.TaskData{State: run.TaskParked, Forgotten: &run.Forgotten{Findings: []spec.Finding{
		{File: "../x.go"}, {File: ".git/config"}, {File: "/etc/passwd"}, {File: "a/{b,..}.go"},
	}}})
	_, err = request.FindForgotten(&l.Agenda, []string{"own"}, "", "", func(string) bool { return true })
	require.EqualError(t, err, nothing, "no task can name such files")
	require.Empty(t, l.Tasks.ByID["own"].Forgotten.Addable(nil))
}
