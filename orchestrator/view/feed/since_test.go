package feed

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// written are events of a run, each a second after the one before it, from a second on.
type written struct {
	testing.TB
	events []contextscope.Event
	second int64
}

func (w *written) add(kind contextscope.Kind, id string, attempt int, data any) {
	w.Helper()
	raw, err := json.Marshal(data)
	require.NoError(w, err)
	w.second++
	e := contextscope.Event{Pos: uint64(w.second), Run: "r", Kind: kind, Task: id, Data: raw, Time: time.Unix(w.second, 0)}
	if attempt > 0 {
		e.Attempt, e.Agent, e.Worker = attempt, wire.AgentID(id, attempt), "w1"
	}
	w.events = append(w.events, e)
}

func (w *written) run(d run.Data)                 { w.add(contextscope.KindRun, "", 0, d) }
func (w *written) task(id string, d run.TaskData) { w.add(contextscope.KindTask, id, 0, d) }
func (w *written) landed(batch int, state string, tasks ...run.Landed) {
	w.add(contextscope.KindLanding, "", 0, run.LandingData{Batch: batch, State: state, Tasks: tasks})
}

// Events before the time are folded and not told.
func TestSince(t *testing.T) {
	t.Parallel()
	line := "look first"
	by := func(kind run.DecisionKind, about, option string) *run.Decided {
		return &run.Decided{Kind: kind, About: about, Closed: true, Answer: run.Answer{ID: "x", Option: option, By: "user:ana"}}
	}
	red := &spec.Fault{Class: wire.FaultGate, Message: "red"}
	for name, c := range map[string]struct {
		log  func(*written)
		want []string
	}{
		"nothing":                     {func(*written) {}, nil},
		"nothing that a person wants": {func(w *written) { w.run(run.Data{Notices: []string{"n"}}) }, nil},
		"its end":                     {func(w *written) { w.run(run.Data{State: run.Done, Reason: "all landed"}) }, []string{"the run is done: all landed"}},
		"the line":                    {func(w *written) { w.run(run.Data{Line: &line}) }, []string{"the line was stopped: look first"}},
		"by template": {func(w *written) {
			w.landed(2, run.LandingLanded, run.Landed{Task: "u-001", Commit: "c"}, run.Landed{Task: "a", Commit: "c"})
			w.landed(3, run.LandingLanded, run.Landed{Task: "t-002", Commit: "c"}, run.Landed{Task: "t-003", Commit: "c"}, run.Landed{Task: "b"})
		}, []string{"4 tasks landed: 2 of t, 1 of u, 1 more; 1 task ended without a patch"}},
		"of no template": {
			func(w *written) { w.landed(2, run.LandingLanded, run.Landed{Task: "a", Commit: "c"}) }, []string{"1 task landed"},
		},
		"without a patch": {func(w *written) { w.task("a", run.TaskData{State: run.TaskDone}) }, []string{"1 task ended without a patch"}},
		"failures": {func(w *written) {
			w.task("a", run.TaskData{State: run.TaskPending, Fault: red})
			w.task("b", run.TaskData{State: run.TaskParked, Fault: red})
		}, []string{"1 task parked: b; 2 attempts failed"}},
		"red batches": {func(w *written) {
			w.landed(2, run.LandingRed, run.Landed{Task: "a"})
			w.landed(2, run.LandingSplit, run.Landed{Task: "a"})
			w.landed(4, run.LandingSplit, run.Landed{Task: "b"})
		}, []string{"2 batches failed: 2, 4"}},
		"decisions": {func(w *written) {
			w.run(run.Data{Decision: by(run.DecidePlan, "", run.Yes)})
			w.task("a", run.TaskData{State: run.TaskRunning, Decision: by(run.DecidePatch, "", run.Accept)})
			w.run(run.Data{Decision: &run.Decided{Kind: run.DecideTemplate, About: "t", Answer: run.Answer{Option: run.Park}}})
		}, []string{"decided: plan: approve by user:ana, patch a: accept by user:ana"}},
		"an answer": {func(w *written) {
			w.task("a", run.TaskData{State: run.TaskRunning, Dispatch: &run.Dispatch{Task: "a", Attempt: 1, Role: "generator"}})
			w.add(contextscope.KindRequest, "a", 1, wire.Request{ID: "q", Kind: wire.RequestAsk})
			w.add(contextscope.KindAnswer, "a", 0, wire.Answer{Request: "q", From: "user:ana", Text: "yes"})
		}, []string{"decided: question a: answered by user:ana"}},
		"tokens": {func(w *written) {
			w.add(contextscope.KindUsage, "a", 1, spec.Usage{Prompt: 1500})
		}, []string{"1.5k tokens were used"}},
		"workers": {func(w *written) {
			w.run(run.Data{Crew: run.Crew{"w1": {}, "w2": {}, "w3": {}}})
			w.run(run.Data{Crew: run.Crew{"w1": {}}})
			w.run(run.Data{Crew: run.Crew{"w1": {}, "w3": {}}})
		}, []string{"workers are gone: w2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &written{TB: t}
			w.run(run.Data{State: run.Running, Spec: &run.Spec{Roles: runtest.Roles(), Created: time.Unix(0, 0)}})
			var tasks []spec.Task
			for _, id := range []string{"a", "b", "t-001", "t-002", "t-003", "u-001"} {
				task := spec.Task{ID: id, Role: "generator"}
				if len(id) > 1 {
					task.ShardOf = id[:1]
				}
				tasks = append(tasks, task)
			}
			w.add(contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, Tasks: tasks})
			w.landed(1, run.LandingLanded, run.Landed{Task: "t-001", Commit: "c"})
			w.add(contextscope.KindUsage, "a", 1, spec.Usage{Prompt: 9000})
			since := time.Unix(w.second, 0)
			c.log(w)
			lines, unread := Since(slices.Values(w.events), since)
			require.Empty(t, unread)
			require.Equal(t, c.want, lines)
		})
	}
}

// All that can be told at once is eight lines.
func TestSinceIsShort(t *testing.T) {
	t.Parallel()
	w, line := &written{TB: t}, "x"
	w.run(run.Data{State: run.Running, Spec: &run.Spec{Roles: runtest.Roles()}})
	w.add(contextscope.KindPlan, "", 0, run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a", Role: "generator"}, {ID: "b", Role: "generator"}}})
	w.run(run.Data{State: run.Final, Line: &line, Crew: run.Crew{"w": {}}})
	w.run(run.Data{Crew: run.Crew{}, Decision: &run.Decided{Kind: run.DecideTemplate, About: "t", Closed: true}})
	w.landed(1, run.LandingSplit, run.Landed{Task: "a"})
	w.landed(2, run.LandingLanded, run.Landed{Task: "a", Commit: "c"})
	w.task("b", run.TaskData{State: run.TaskParked})
	w.add(contextscope.KindUsage, "a", 1, spec.Usage{Prompt: 9})
	w.events = append(w.events, contextscope.Event{ID: "broken", Kind: contextscope.KindTask, Task: "a", Data: json.RawMessage("{"), Time: time.Unix(99, 0)})
	lines, unread := Since(slices.Values(w.events), time.Unix(2, 0))
	require.Len(t, lines, 8)
	require.ErrorContains(t, unread[0], "event broken")
	none, _ := Since(slices.Values(w.events), time.Unix(99, 0))
	require.Empty(t, none)
}
