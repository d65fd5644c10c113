package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/page"
	"divisi/subagents/wire"
)

// at is an event of a made-up run at a second.
func at(t testing.TB, second int, kind contextscope.Kind, id string, attempt int, data any) contextscope.Event {
	t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(t, err)
	e := contextscope.Event{Run: "r", Task: id, Attempt: attempt, Kind: kind, Data: raw, Time: time.Unix(int64(second), 0)}
	if attempt > 0 {
		e.Agent, e.Worker = wire.AgentID(id, attempt), "w1"
	}
	return e
}

func dispatch(id, role string, state run.TaskState, attempt int) run.TaskData {
	return run.TaskData{State: state, Dispatch: &run.Dispatch{Task: id, Attempt: attempt, Role: role}}
}

// began is a run whose plan has the tasks a and b, and a's first attempt with a worker.
func began(t testing.TB) []contextscope.Event {
	t.Helper()
	return []contextscope.Event{
		at(t, 1, contextscope.KindRun, "", 0, run.Data{State: run.Created, Spec: &run.Spec{
			Goal: "g", Repo: "/r", Base: "b", Branch: "main", Parallel: 3, Budget: spec.Tokens(9), Created: time.Unix(1, 0),
			Roles:   map[string]spec.Role{"generator": {Writes: true, Model: "fast"}},
			Project: spec.Project{Models: map[string]spec.Model{"deep": {}}},
		}}),
		at(t, 2, contextscope.KindRun, "", 0, run.Data{State: run.Running}),
		at(t, 3, contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, Tasks: []spec.Task{
			{ID: "a", Title: "A", Role: "generator"}, {ID: "b", Role: "generator"},
		}}),
		at(t, 4, contextscope.KindTask, "a", 0, dispatch("a", "generator", run.TaskRunning, 1)),
		at(t, 5, contextscope.KindStarted, "a", 1, wire.Started{Delivery: 1}),
	}
}

func folded(t testing.TB, events ...contextscope.Event) *run.State {
	t.Helper()
	s := run.NewState()
	for i := range events {
		require.NoError(t, s.Apply(&events[i]))
	}
	return s
}

func TestHead(t *testing.T) {
	t.Parallel()
	wait, over := "an approval", ""
	events := append(began(t),
		at(t, 6, contextscope.KindUsage, "a", 1, spec.Usage{Calls: 1, Prompt: 10, Cached: 4, Output: 2}),
		at(t, 10, contextscope.KindRun, "", 0, run.Data{Wait: &wait, Notices: []string{"n"}}),
		at(t, 11, contextscope.KindTool, "a", 1, wire.Tooled{Steps: []spec.Step{{State: spec.StepToDo, Text: "read"}}}),
		at(t, 12, contextscope.KindTool, "a", 1, wire.Tooled{Steps: []spec.Step{{State: spec.StepDoing, Text: "read"}}}),
		at(t, 12, contextscope.KindTool, "a", 1, wire.Tooled{}),
		at(t, 13, contextscope.KindProgress, "a", 1, wire.Progress{Doing: "reads"}),
	)
	v := page.Of(folded(t, events...), time.Unix(60, 0))
	require.Equal(t, []any{run.Running, "g", "/r", "b", "main", 3, spec.Tokens(9), 12, 4, 1}, []any{
		v.State, v.Goal, v.Repo, v.Base, v.Branch, v.Parallel, v.Budget, v.Tokens, v.Cached, v.Calls,
	})
	require.Equal(t, []any{"an approval", []string{"n"}, int64(1000), int64(13_000), int64(3000), int64(0)}, []any{
		v.Wait, v.Notices, v.Created, v.Last, v.Waited, v.Ended,
	})
	require.Len(t, v.Phases, 5)
	require.Equal(t, [][]string{{"generator"}, {"deep", "fast"}}, [][]string{v.Roles, v.Models})
	require.Equal(t, "reads", v.Agents[0].Doing)
	require.Equal(t, []spec.Step{{State: spec.StepDoing, Text: "read"}}, v.Agents[0].Steps, "the newest plan")
	require.Equal(t, []any{"a/1", "a", "w1", 12, int64(5000)}, []any{
		v.Agents[0].ID, v.Agents[0].Task, v.Agents[0].Worker, v.Agents[0].Tokens, v.Agents[0].Since,
	})
	events = append(events,
		at(t, 20, contextscope.KindRun, "", 0, run.Data{Wait: &over}),
		at(t, 30, contextscope.KindRun, "", 0, run.Data{State: run.Done, Ref: "refs/heads/x", Head: "c", Reason: "all landed"}),
	)
	v = page.Of(folded(t, events...), time.Unix(60, 0))
	require.Equal(t, []any{run.Done, "", "refs/heads/x", "c", "all landed", int64(30_000), int64(10_000)}, []any{
		v.State, v.Wait, v.Ref, v.Published, v.Reason, v.Ended, v.Waited,
	})
	require.Empty(t, v.Agents, "an ended run has no agents")
	v = page.Of(folded(t, append(events, at(t, 50, contextscope.KindRun, "", 0, run.Data{State: run.Running, Epoch: 2}))...), time.Unix(60, 0))
	require.Equal(t, int64(30_000), v.Waited, "no process had it for 20 seconds")
}

func TestTasks(t *testing.T) {
	t.Parallel()
	patch := spec.Result{
		Status: spec.StatusDone, Attempt: 1, Patch: &spec.Patch{Added: 5, Deleted: 2},
		Handoff: spec.Handoff{
			Findings: []string{"f"}, Deviations: []string{"d"}, Constraints: []spec.ConstraintEcho{{Text: "c", Note: "n"}, {Text: "k", Kept: true}},
		},
	}
	notes := []string{"broken: constraint c: n", "deviation: d", "finding: f"}
	fault := &spec.Fault{Class: "gates", Message: "red"}
	accepted := at(t, 7, contextscope.KindTask, "a", 0, run.TaskData{State: run.TaskAccepted})
	result := at(t, 6, contextscope.KindResult, "a", 1, patch)
	landed := func(unverified string) contextscope.Event {
		return at(t, 8, contextscope.KindLanding, "", 0, run.LandingData{
			Batch: 1, State: run.LandingLanded, Unverified: unverified, Tasks: []run.Landed{{Task: "a", Commit: "x", Unverified: unverified, Added: 6, Deleted: 3}},
		})
	}
	unverified := at(t, 2, contextscope.KindRun, "", 0, run.Data{Unverified: "no gates"})
	for name, c := range map[string]struct {
		events []contextscope.Event
		want   page.TaskRow
	}{
		"running": {nil, page.TaskRow{State: "running"}},
		"with a result": {
			[]contextscope.Event{result}, page.TaskRow{State: "running", Added: 5, Deleted: 2, Notes: notes, Patch: true},
		},
		"accepted": {
			[]contextscope.Event{result, accepted}, page.TaskRow{State: "accepted", Added: 5, Deleted: 2, Notes: notes, Patch: true},
		},
		"landed": {
			[]contextscope.Event{result, accepted, landed("")}, page.TaskRow{State: "landed", Added: 6, Deleted: 3, Notes: notes, Patch: true, Landed: 8000},
		},
		"landed unverified": {
			[]contextscope.Event{unverified, result, accepted, landed("no gates")},
			page.TaskRow{State: "landed unverified", Added: 6, Deleted: 3, Notes: notes, Patch: true, Landed: 8000},
		},
		"failed": {
			[]contextscope.Event{at(t, 6, contextscope.KindTask, "a", 0, run.TaskData{State: run.TaskPending, Reason: "red", Fault: fault})},
			page.TaskRow{State: "pending", Reason: "red", Alarm: true},
		},
		"interrupted": {
			[]contextscope.Event{at(t, 6, contextscope.KindTask, "a", 0, run.TaskData{State: run.TaskPending, Reason: "the machine sleeps"})},
			page.TaskRow{State: "pending", Reason: "the machine sleeps"},
		},
		"parked": {
			[]contextscope.Event{result, at(t, 7, contextscope.KindTask, "a", 0, run.TaskData{State: run.TaskParked, Reason: "red", Fault: fault})},
			page.TaskRow{State: "parked", Reason: "red", Alarm: true, Notes: notes, Patch: true},
		},
		"parked for a forgotten file": {
			[]contextscope.Event{result, at(t, 7, contextscope.KindTask, "a", 0, run.TaskData{
				State: run.TaskParked, Reason: "red", Fault: fault, Forgotten: &run.Forgotten{Findings: []spec.Finding{{File: "c.go"}}},
			})},
			page.TaskRow{State: "parked", Reason: "red", Alarm: true, Notes: notes, Patch: true, Forgotten: []string{"c.go"}},
		},
		"its judge's words": {
			[]contextscope.Event{
				at(t, 6, contextscope.KindTask, "a", 0, dispatch("a--verify", "tester", run.TaskVerifying, 1)),
				at(t, 7, contextscope.KindResult, "a--verify", 1, patch),
			},
			page.TaskRow{State: "verifying", Notes: []string{"broken: constraint c: its judge: n", "deviation: its judge: d"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.ID, c.want.Title, c.want.Role, c.want.Attempt = "a", "A", "generator", 1
			v := page.Of(folded(t, append(began(t), c.events...)...), time.Unix(60, 0))
			require.Equal(t, c.want, v.Tasks[0])
			require.Equal(t, page.TaskRow{ID: "b", Role: "generator", State: "pending"}, v.Tasks[1])
		})
	}
}

// A row names the template of a shard, and why a pending task waits.
func TestWhatATaskWaitsFor(t *testing.T) {
	t.Parallel()
	v := page.Of(folded(t, append(began(t), at(t, 6, contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, Tasks: []spec.Task{
		{ID: "t-001", ShardOf: "t", Role: "generator", DependsOn: []string{"a"}},
		{ID: "c", Role: "generator"},
		{ID: "d", Role: "generator"},
	}}))...), time.Unix(60, 0))
	require.Equal(t, []page.TaskRow{
		{ID: "b", Role: "generator", State: "pending"},
		{ID: "t-001", Role: "generator", State: "pending", Template: "t", Why: "waits for a"},
		{ID: "c", Role: "generator", State: "pending"},
		{ID: "d", Role: "generator", State: "pending", Why: "waits for a place: the run has at most 3 agents at once"},
	}, v.Tasks[1:])
}

func TestWhatRunsBesideTasks(t *testing.T) {
	t.Parallel()
	line := "look first"
	events := append(began(t),
		at(t, 6, contextscope.KindRun, "", 0, run.Data{Flaky: map[string][]string{"test": {"TestA"}, "lint": {}}, Line: &line}),
		at(t, 7, contextscope.KindTask, "b", 0, run.TaskData{State: run.TaskAccepted}),
	)
	v := page.Of(folded(t, events...), time.Unix(3600, 0))
	require.Equal(t, line, v.Line)
	require.Equal(t, "nothing has landed for 59 min: the line is stopped: look first", v.Alarm)
	require.Equal(t, []view.Worker{{Name: "w1", Agents: 1, Since: 5000}}, v.Workers)
	require.Equal(t, []page.Flaky{{Gate: "test", Names: []string{"TestA"}}}, v.Flaky)
	require.Equal(t, []string{"b"}, v.Queue.Waiting)
	require.Equal(t, int64(5000), v.Agents[0].Last)
}

func TestMasterIsATask(t *testing.T) {
	t.Parallel()
	at := func(kind contextscope.Kind, attempt int, data any) contextscope.Event {
		return at(t, 1, kind, run.MasterTask, attempt, data)
	}
	woken := at(contextscope.KindTask, 0, dispatch(run.MasterTask, "master", run.TaskRunning, 1))
	result := at(contextscope.KindResult, 1, spec.Result{Status: spec.StatusDone, Attempt: 1, Handoff: spec.Handoff{Findings: []string{"f"}}})
	for name, c := range map[string]struct {
		events []contextscope.Event
		want   page.TaskRow
	}{
		"at work": {nil, page.TaskRow{State: "running"}},
		"waits":   {[]contextscope.Event{result}, page.TaskRow{State: "pending", Reason: "waits for its tasks", Notes: []string{"finding: f"}}},
		"done": {
			[]contextscope.Event{result, at(contextscope.KindTask, 0, run.TaskData{State: run.TaskDone})},
			page.TaskRow{State: "done", Notes: []string{"finding: f"}},
		},
		"failed": {
			[]contextscope.Event{result, at(contextscope.KindTask, 0, run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Message: "no plan"}})},
			page.TaskRow{State: "pending", Reason: "no plan", Alarm: true, Notes: []string{"finding: f"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.ID, c.want.Role, c.want.Attempt = run.MasterTask, spec.RoleMaster, 1
			require.Equal(t, []page.TaskRow{c.want}, page.Of(folded(t, append([]contextscope.Event{woken}, c.events...)...), time.Unix(60, 0)).Tasks)
		})
	}
}

func decode(t testing.TB, data []byte) page.Run {
	t.Helper()
	const head = "event: view\ndata: "
	require.Contains(t, string(data), head)
	var v page.Run
	require.NoError(t, json.Unmarshal(data[len(head):], &v))
	return v
}

// TestBoardSendsWhatChanged: who has a view gets the rows that changed since, and nothing when none did.
func TestBoardSendsWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBoard()
	first, version := b.after(0)
	require.Empty(t, decode(t, first).Tasks, "a run without a plan has a view too")
	require.Empty(t, b.fold(Batch{Pos: 1, Events: began(t)}))
	all, newer := b.after(version)
	require.Equal(t, []string{"a", "b"}, ids(decode(t, all).Tasks))
	nothing, same := b.after(newer)
	require.Nil(t, nothing)
	require.Equal(t, newer, same)

	broken := contextscope.Event{ID: "x", Kind: contextscope.KindTask, Data: json.RawMessage("{oops")}
	parked := at(t, 9, contextscope.KindTask, "b", 0, run.TaskData{State: run.TaskParked})
	unread := b.fold(Batch{Pos: 2, Events: []contextscope.Event{broken, parked}})
	require.ErrorContains(t, unread[0], "event x at 2")
	some, newest := b.after(newer)
	require.Equal(t, []string{"b"}, ids(decode(t, some).Tasks))
	whole, _ := b.after(0)
	require.Equal(t, []string{"a", "b"}, ids(decode(t, whole).Tasks))
	require.Greater(t, newest, newer)
}

// TestBoardTellsTheTime: while nothing is written, the words of an alarm change once in a minute, until the run ends.
func TestBoardTellsTheTime(t *testing.T) {
	t.Parallel()
	b, now := newBoard(), time.Unix(1200, 0)
	b.clock = func() time.Time { return now }
	require.Empty(t, b.fold(Batch{Pos: 1, Events: began(t)}))
	first, version := b.after(0)
	require.Equal(t, "nothing has landed for 19 min: a/1 has worked for 19 min", decode(t, first).Alarm)
	require.Equal(t, []page.Point{{5000, 0, 0}, {1_200_000, 0, 0}}, decode(t, first).Series)
	now = now.Add(time.Second)
	same, version := b.after(version)
	require.Nil(t, same)
	now = now.Add(time.Minute)
	next, version := b.after(version)
	require.Equal(t, "nothing has landed for 20 min: a/1 has worked for 20 min", decode(t, next).Alarm)
	require.Empty(t, decode(t, next).Tasks)
	require.Empty(t, b.fold(Batch{Pos: 2, Events: []contextscope.Event{at(t, 1290, contextscope.KindRun, "", 0, run.Data{State: run.Stopped})}}))
	end, version := b.after(version)
	require.Empty(t, decode(t, end).Alarm)
	require.Equal(t, []page.Point{{5000, 0, 0}, {1_290_000, 0, 0}}, decode(t, end).Series)
	now = now.Add(time.Hour)
	same, _ = b.after(version)
	require.Nil(t, same)
}

// TestBoardCancelsWhatWasSentBack: a page that is open learns that tasks are gone.
func TestBoardCancelsWhatWasSentBack(t *testing.T) {
	t.Parallel()
	b := newBoard()
	require.Empty(t, b.fold(Batch{Pos: 1, Events: append(began(t), at(t, 6, contextscope.KindPlan, "", 0, run.PlanData{
		By: "master/1", Tasks: []spec.Task{{ID: "d", Role: "generator"}, {ID: "c", Role: "generator"}},
	}))}))
	_, version := b.after(0)
	require.Empty(t, b.fold(Batch{Pos: 2, Events: []contextscope.Event{
		at(t, 7, contextscope.KindRun, "", 0, run.Data{Decision: &run.Decided{
			Kind: run.DecidePlan, Plan: 1, Closed: true, Answer: run.Answer{ID: "plan-2.0", Text: "Do less"},
		}}),
	}}))
	some, version := b.after(version)
	tasks := decode(t, some).Tasks
	require.Equal(t, []string{"c", "d"}, ids(tasks))
	require.Equal(t, string(run.TaskCancelled), tasks[0].State)
	require.Empty(t, b.fold(Batch{Pos: 3, Events: []contextscope.Event{
		at(t, 8, contextscope.KindPlan, "", 0, run.PlanData{By: "master/2", Tasks: []spec.Task{{ID: "c", Role: "generator"}}}),
	}}))
	some, _ = b.after(version)
	require.Equal(t, []string{"c"}, ids(decode(t, some).Tasks))
	require.Equal(t, string(run.TaskPending), decode(t, some).Tasks[0].State)
}

// BenchmarkView measures a view of a run with five thousand tasks: whole, and after one task changed.
func BenchmarkView(b *testing.B) {
	board := newBoard()
	tasks := make([]spec.Task, 5000)
	for i := range tasks {
		tasks[i] = spec.Task{ID: fmt.Sprintf("move-package-%04d", i), Title: "Move internal/something to log/slog", Role: "generator"}
	}
	board.fold(Batch{Pos: 1, Events: append(began(b), at(b, 3, contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, Tasks: tasks}))})
	whole, version := board.after(0)
	changed := 0
	for i := 0; b.Loop(); i++ {
		id := tasks[i%len(tasks)].ID
		board.fold(Batch{Pos: uint64(i + 2), Events: []contextscope.Event{
			at(b, 9, contextscope.KindTask, id, 0, dispatch(id, "generator", run.TaskRunning, 1+i/len(tasks))),
		}})
		var data []byte
		data, version = board.after(version)
		changed = len(data)
	}
	b.ReportMetric(float64(len(whole)), "bytes/whole")
	b.ReportMetric(float64(changed), "bytes/change")
}

// TestLogLine: a line of the page has all words of its event on one bounded line, and the most urgent level.
func TestLogLine(t *testing.T) {
	t.Parallel()
	notice := at(t, 2, contextscope.KindRun, "", 0, run.Data{State: run.Running, Notices: []string{"a\n\x1b[31mb\u202e"}})
	require.Equal(t, logLine{
		Time: 2000, Kind: contextscope.KindRun, Text: "run is running; note: a [31mb", Level: "warn",
	}, lineOf(&notice))
	over := at(t, 2, contextscope.KindRun, "", 0, run.Data{State: run.Parked, Notices: []string{"n"}})
	require.Equal(t, "bad", lineOf(&over).Level)
	failed := at(t, 3, contextscope.KindReceipt, "a", 1, spec.Receipt{Gate: "test", Verdict: spec.VerdictFail})
	require.Equal(t, logLine{
		Time: 3000, Kind: contextscope.KindReceipt, Task: "a", Agent: "a/1", Text: "gate test: fail; 0s", Level: "bad",
	}, lineOf(&failed), "the agent stands in its own column")
	long := at(t, 4, contextscope.KindProgress, "a", 1, wire.Progress{Doing: strings.Repeat("é", 5000)})
	require.Equal(t, 600, utf8.RuneCountInString(lineOf(&long).Text))
}
