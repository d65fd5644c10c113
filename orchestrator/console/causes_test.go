package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/feed"
)

// failing is a run in which twenty shards fail alike, and then one of them in another way.
func failing() []contextscope.Event {
	plan, events := run.PlanData{By: run.ByFile}, []contextscope.Event{}
	for i := range 20 {
		plan.Tasks = append(plan.Tasks, spec.Task{ID: fmt.Sprintf("move-%03d", i+1), ShardOf: "move", Files: []string{fmt.Sprintf("pkg%c/file.go", 'a'+i)}})
	}
	events = append(events, event(contextscope.KindPlan, "", plan))
	for i := range plan.Tasks {
		f := spec.Fault{Class: "gate", Message: fmt.Sprintf("%s:%d: undefined: Old", plan.Tasks[i].Files[0], 10+i)}
		ended := event(contextscope.KindResult, plan.Tasks[i].ID, spec.Result{Status: spec.StatusFailed, Error: &f})
		ended.Agent = plan.Tasks[i].ID + "/1"
		events = append(events, ended, event(contextscope.KindTask, plan.Tasks[i].ID, run.TaskData{State: run.TaskPending, Fault: &f}))
	}
	other := spec.Fault{Class: "gate", Message: "the disk is full"}
	return append(events, event(contextscope.KindTask, "move-001", run.TaskData{State: run.TaskParked, Fault: &other}))
}

// A log has a line for each task, and the cause once.
func TestACauseIsPrintedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out, Zone: time.UTC})
	c.Handle(failing())
	require.NoError(t, c.Close())
	require.Equal(t, 1, strings.Count(out.String(), "undefined: Old"), out.String())
	require.Contains(t, out.String(), "move-001/1 ended: failed: gate: pkga/file.go:10: undefined: Old\n")
	require.Contains(t, out.String(), "move-001 will be retried: same cause as before\n")
	require.Contains(t, out.String(), "move-020/1 ended: failed: same cause as move-001\n")
	require.Contains(t, out.String(), "move-020 will be retried: same cause as move-001\n")
	require.Contains(t, out.String(), "move-001 is parked: gate: the disk is full\n")
}

// What a task is parked for is in the place of a cause that was printed before; a cause that has changed is printed.
func TestAParkedTaskSaysWhy(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out, Zone: time.UTC})
	events := []contextscope.Event{event(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a"}}})}
	fail := func(message string) {
		f := spec.Fault{Class: "command", Message: message}
		ended := event(contextscope.KindResult, "a", spec.Result{Status: spec.StatusFailed, Error: &f})
		ended.Agent = "a/1"
		parked := run.TaskData{State: run.TaskParked, Fault: &f, Reason: "its command would do the same again: " + message}
		events = append(events, ended, event(contextscope.KindTask, "a", parked))
	}
	fail("sh exited with 3")
	fail("sh exited with 4")
	c.Handle(events)
	require.NoError(t, c.Close())
	require.Contains(t, out.String(), "a/1 ended: failed: command: sh exited with 3\n")
	require.Contains(t, out.String(), "a is parked: its command would do the same again\n")
	require.Contains(t, out.String(), "a/1 ended: failed: command: sh exited with 4\n")
	require.NotContains(t, out.String(), "same cause")
}

// A terminal counts the tasks after the first one, and keeps the count where it scrolls once another failure comes.
func TestATerminalCountsTheTasksWithOneCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(t, 160)
		c := New(Options{Out: screen, TTY: true, Width: screen.size})
		events := failing()
		last := len(events) - 1
		c.Handle(events[:last-2])
		pass(redrawPause)
		require.Contains(t, screen.text(), "\n18 more tasks retried, same cause as move-001\n")
		require.Contains(t, screen.text(), "move-001 will be retried: gate: pkga/file.go:10: undefined: Old\n")
		c.Handle(events[last-2:])
		pass(redrawPause)
		shown := screen.text()
		require.Equal(t, 1, strings.Count(shown, "undefined: Old"), shown)
		require.Equal(t, 1, strings.Count(shown, "19 more tasks retried, same cause as move-001: move-002, move-003,"), shown)
		require.NotContains(t, shown, "18 more", "it is a count no more")
		require.Less(t, strings.Index(shown, "19 more"), strings.Index(shown, "move-001 is parked: gate: the disk is full"))
		require.NoError(t, c.Close())
	})
}

// A count that has had no more for a while is kept too.
func TestACountEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(t, 160)
		c := New(Options{Out: screen, TTY: true, Width: screen.size})
		c.Handle(failing()[:7])
		pass(redrawPause)
		require.Contains(t, screen.text(), "2 more tasks retried, same cause as move-001\n")
		pass(30*time.Second + 2*time.Second)
		require.Contains(t, screen.text(), "2 more tasks retried, same cause as move-001: move-002, move-003\n")
		require.NoError(t, c.Close())
	})
}

// A report tells the cause of parked tasks once, with the ids of them all; what is a task's own makes no other cause.
func TestParkedTasksOfOneCauseAreAGroup(t *testing.T) {
	t.Parallel()
	task := func(id, reason string) view.Task {
		return view.Task{ID: id, State: run.TaskParked, Reason: reason, WriteSet: []string{id + "/file.go"}}
	}
	red := func(id string, line int) view.Task {
		return task(id, fmt.Sprintf("gate red: %s/file.go:%d: undefined: Old (whole output: /r/outputs/output-%x.txt)", id, line, 7919*line))
	}
	landed := view.Task{ID: "done", State: run.TaskLanded}
	var b strings.Builder
	reports.Tasks(&b, []view.Task{red("a", 10), landed, red("other", 12), task("full", "the disk is full"), red("b", 14)}, 120)
	require.Equal(t, 1, strings.Count(b.String(), "undefined: Old"), b.String())
	require.Contains(t, b.String(), "\n    same cause: other, b\n")
	require.Contains(t, b.String(), "\n    the disk is full\n")
	require.Equal(t, 1, strings.Count(b.String(), "same cause"))
	b.Reset()
	reports.Tasks(&b, []view.Task{task("three", "sh exited with 3: limit 3"), task("more", "sh exited with 77: limit 77")}, 120)
	require.Contains(t, b.String(), "\n    sh exited with 77: limit 77\n", "another number is another cause")
}

// The first task that is parked for a failure of a batch shows that whole, with the line of the source and who changed the file.
func TestAParkedTaskNamesTheSource(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out, Zone: time.UTC})
	c.Handle([]contextscope.Event{event(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a"}, {ID: "b"}, {ID: "d"}}})})
	const cause = "b.go:3:25: not enough arguments"
	f := spec.Fault{Class: "gate", Message: cause}
	red := spec.Receipt{Verdict: spec.VerdictFail, Errors: []spec.Finding{{File: "b.go", Line: 3, Source: "return A()"}}}
	c.view.Tasks.ByID["b"].Result = &spec.Result{Patch: &spec.Patch{Files: []string{"b.go"}}}
	c.view.Works["--batch-1"] = &run.Work{Last: 1, Attempts: map[int]*run.Attempt{1: {Result: &spec.Result{Receipts: []spec.Receipt{red}}}}}
	require.Empty(t, c.view.Shorten(&feed.Line{Cause: "gate: " + cause}, &contextscope.Event{Task: "--batch-1"}))
	c.Handle([]contextscope.Event{
		event(contextscope.KindTask, "a", run.TaskData{State: run.TaskPending, Fault: &f}),
		event(contextscope.KindTask, "a", run.TaskData{State: run.TaskParked, Fault: &f}),
		event(contextscope.KindTask, "d", run.TaskData{State: run.TaskParked, Fault: &f}),
	})
	require.NoError(t, c.Close())
	require.Contains(t, out.String(), "a will be retried: the same failure as batch 1\n")
	require.Contains(t, out.String(), "a is parked: gate: "+cause+`, in "return A()"; changed by b`+"\n")
	require.Contains(t, out.String(), "d is parked: the same failure as batch 1\n")
}
