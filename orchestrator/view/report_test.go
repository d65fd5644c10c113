package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// told is a state that has been told some events, one after the other.
type told struct {
	t *testing.T
	*run.State
}

func (s told) apply(e contextscope.Event, data any) {
	s.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(s.t, err)
	e.Pos, e.ID, e.Data = s.Pos+1, fmt.Sprint(s.Pos+1), raw
	if e.Time.IsZero() {
		e.Time = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	}
	require.NoError(s.t, s.Apply(&e))
}

// worked reports an attempt of a task: dispatched, answered by a model where it names one, and paid for.
func (s told) worked(task, role string, attempt int, called string, u spec.Usage, day ...time.Time) {
	s.t.Helper()
	s.apply(contextscope.Event{Kind: contextscope.KindTask, Task: task}, run.TaskData{
		State: run.TaskRunning, Dispatch: &run.Dispatch{Task: task, Attempt: attempt, Role: role},
	})
	e := contextscope.Event{Task: task, Attempt: attempt, Role: role, Agent: task}
	if called != "" {
		e.Kind = contextscope.KindTurn
		s.apply(e, wire.Turn{Model: called})
	}
	e.Kind = contextscope.KindUsage
	if len(day) > 0 {
		e.Time = day[0]
	}
	at := cmp.Or(e.Time, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	row := model.RowOf(&s.Spec.Project, at, cmp.Or(called, s.Spec.Roles[role].Model))
	s.apply(e, wire.Spent{Usage: u, Price: row})
}

func newTold(t *testing.T, project spec.Project) told {
	t.Helper()
	s := told{t, run.NewState()}
	s.apply(contextscope.Event{Kind: contextscope.KindRun}, run.Data{Spec: &run.Spec{
		Run: "r", Project: project, Roles: map[string]spec.Role{"generator": {Model: "gemini-3.8-flash"}, "tester": {Model: "local"}},
	}})
	return s
}

func TestRolesOfAReport(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	million := spec.Usage{Calls: 2, Prompt: 1_000_000, Cached: 750_000, Output: 80_000, Thoughts: 20_000}
	s.worked("a", "generator", 1, "gemini-3.8-flash", million)
	s.apply(contextscope.Event{Kind: contextscope.KindTask, Task: "a"}, run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: "gates"}})
	s.worked("a", "generator", 2, "gemini-3.8-flash", million)
	s.worked("b", "generator", 1, "", million) // its first call failed: no turn names a model, its role does
	s.worked("a--verify", "tester", 1, "qwen", spec.Usage{Calls: 1, Prompt: 100, Output: 10})
	s.worked("c", "command", 1, "", spec.Usage{})

	roles := Of(s.State).Roles
	require.Len(t, roles, 2, "a role that called no model is left out")
	generator, tester := roles[0], roles[1]
	require.Equal(t, "generator", generator.Role)
	require.Equal(t, spec.Usage{Calls: 6, Prompt: 3_000_000, Cached: 2_250_000, Output: 240_000, Thoughts: 60_000}, generator.Usage)
	require.InDelta(t, 0.75, generator.Reuse, 1e-9)
	require.Equal(t, 3*(250_000*750_000+750_000*75_000+100_000*3_750_000*spec.Money(1)), generator.Cost)
	require.Zero(t, generator.Unpriced)
	require.Equal(t, Role{Role: "tester", Usage: tester.Usage, Unpriced: 110}, tester)

	raw, err := json.Marshal(Of(s.State))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"roles":[{"role":"generator","usage":{"calls":6,"prompt":3000000,"cached":2250000`)
}

func TestThePriceIsThatOfTheDay(t *testing.T) {
	t.Parallel()
	one := spec.Usage{Calls: 1, Prompt: 1_000_000}
	s := newTold(t, spec.Project{})
	s.worked("a", "generator", 1, "gemini-3.8-flash", one)
	s.worked("b", "generator", 1, "gemini-3.8-flash", one, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, "$2.25", Of(s.State).Roles[0].Cost.String())
}

func TestTheProjectsPriceWins(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{Models: map[string]spec.Model{
		"mine":  {Name: "gemini-3.8-flash", PriceIn: 1, PriceOut: 2},
		"local": {Name: "qwen", PriceIn: 0.5, PriceOut: 0.5},
	}})
	u := spec.Usage{Calls: 1, Prompt: 1_000_000, Cached: 1_000_000, Output: 1_000_000}
	s.worked("a", "generator", 1, "gemini-3.8-flash", u)
	s.worked("a--verify", "tester", 1, "qwen", u)
	roles := Of(s.State).Roles
	require.Equal(t, "$2.10", roles[0].Cost.String(), "the discount for cached input is the table's")
	require.Equal(t, spec.Dollar, roles[1].Cost, "without a discount that is known, cached input costs the same")
}

func TestACostThatAProgramStatesWins(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	row := model.RowOf(&s.Spec.Project, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), "gemini-3.8-flash")
	s.worked("a", "generator", 1, "", spec.Usage{})
	for _, spent := range []wire.Spent{
		{Usage: spec.Usage{Calls: 1, Prompt: 100}, Cost: spec.Dollar},
		{Usage: spec.Usage{Calls: 1, Prompt: 100}, Cost: spec.Dollar, Price: row},
		{Usage: spec.Usage{Calls: 1, Prompt: 7}},
	} {
		s.apply(contextscope.Event{Kind: contextscope.KindUsage, Task: "a", Attempt: 1, Role: "generator", Agent: "a"}, spent)
	}
	got := Of(s.State).Roles[0]
	require.Equal(t, []int{207, 7}, []int{got.Usage.Prompt, got.Unpriced})
	require.Equal(t, 2*spec.Dollar, got.Cost)
}

func TestNoTaskOfAStoppedRunIsRunning(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	s.apply(contextscope.Event{Kind: contextscope.KindPlan}, run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a", Role: "generator"}}})
	s.worked("a", "generator", 1, "", spec.Usage{})
	require.Equal(t, run.TaskRunning, Of(s.State).Tasks[0].State)
	s.apply(contextscope.Event{Kind: contextscope.KindRun}, run.Data{State: run.Stopped, Reason: "stopped by a person"})
	got := Of(s.State).Tasks[0]
	require.Equal(t, run.TaskPending, got.State)
	require.Equal(t, "it was running when the run stopped, and continues with the run", got.Reason)
	s.Spec.Roles["generator"] = spec.Role{Executor: spec.ExecutorCommand}
	s.Works["a"].Newest().Started = true
	require.Equal(t, "its command was running when the run stopped: it starts again from nothing when the run continues",
		Of(s.State).Tasks[0].Reason)
	s.apply(contextscope.Event{Kind: contextscope.KindResult, Task: "a", Attempt: 1, Role: "generator", Agent: "a"},
		spec.Result{Status: spec.StatusDone})
	require.Equal(t, "its attempt had ended when the run stopped: its result is checked when the run continues",
		Of(s.State).Tasks[0].Reason)
}

func TestTheLastWordsOfATaskThatDidNotLand(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	s.apply(contextscope.Event{Kind: contextscope.KindPlan}, run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a", Role: "generator"}}})
	s.worked("a", "generator", 1, "", spec.Usage{})
	s.apply(contextscope.Event{Kind: contextscope.KindResult, Task: "a", Attempt: 1, Role: "generator", Agent: "a"},
		spec.Result{Task: "a", Attempt: 1, Status: spec.StatusDone, Said: "I cannot do this."})
	for state, want := range map[run.TaskState]string{
		run.TaskAccepted: "", run.TaskDone: "I cannot do this.", run.TaskParked: "I cannot do this.",
	} {
		s.apply(contextscope.Event{Kind: contextscope.KindTask, Task: "a"}, run.TaskData{State: state})
		require.Equal(t, want, Of(s.State).Tasks[0].Said, state)
	}
}

func TestAttemptsOfCodingAgentsWhoseUseIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	s.Spec.Roles["gemini"] = spec.Role{Name: "gemini", Executor: spec.ExecutorCommand, Usage: spec.AgentGemini}
	agent := func(task, role string, kind contextscope.Kind, data any) {
		s.apply(contextscope.Event{Kind: kind, Task: task, Attempt: 1, Role: role, Agent: task, Worker: "w"}, data)
	}
	begin := func(task, role string, delivery int) {
		if delivery == 1 {
			s.apply(contextscope.Event{Kind: contextscope.KindTask, Task: task}, run.TaskData{
				State: run.TaskRunning, Dispatch: &run.Dispatch{Task: task, Attempt: 1, Role: role},
			})
		}
		agent(task, role, contextscope.KindStarted, wire.Started{Delivery: delivery})
	}
	begin("interrupted", "gemini", 1)
	begin("interrupted", "gemini", 2)
	agent("interrupted", "gemini", contextscope.KindUsage, wire.Spent{Usage: spec.Usage{Calls: 1, Prompt: 5}})
	agent("interrupted", "gemini", contextscope.KindResult, spec.Result{Status: spec.StatusDone})
	begin("late", "gemini", 1)
	agent("late", "gemini", contextscope.KindResult, spec.Result{Status: spec.StatusTimedOut, Unmetered: true})
	begin("absent", "gemini", 1)
	agent("absent", "gemini", contextscope.KindResult, spec.Result{Status: spec.StatusFailed})
	begin("model", "generator", 1)
	begin("running", "gemini", 1)
	require.Equal(t, 2, Of(s.State).Unmetered, "what runs may tell it yet")
	s.apply(contextscope.Event{Kind: contextscope.KindRun}, run.Data{State: run.Stopped})
	require.Equal(t, 3, Of(s.State).Unmetered)
	require.Equal(t, ", plus 3 attempts with unknown use", run.Plus(3))
	require.Equal(t, ", plus 1 attempt with unknown use", run.Plus(1))
}

func TestATaskTellsWhatACodingAgentUsedOfEachModel(t *testing.T) {
	t.Parallel()
	s := newTold(t, spec.Project{})
	s.Spec.Roles["claude"] = spec.Role{Name: "claude", Executor: spec.ExecutorCommand, Usage: spec.AgentClaude}
	s.apply(contextscope.Event{Kind: contextscope.KindPlan}, run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a", Role: "claude"}}})
	for attempt := 1; attempt <= 2; attempt++ {
		s.worked("a", "claude", attempt, "", spec.Usage{})
		for _, spent := range []wire.Spent{
			{Model: "opus", Usage: spec.Usage{Calls: 1, Prompt: 100}, Cost: spec.Dollar}, {Model: "haiku", Usage: spec.Usage{Prompt: 7}},
		} {
			s.apply(contextscope.Event{Kind: contextscope.KindUsage, Task: "a", Attempt: attempt, Role: "claude", Agent: "a"}, spent)
		}
	}
	got := Of(s.State).Tasks[0]
	require.Equal(t, 2*spec.Dollar, got.Cost)
	require.Equal(t, 14, got.Unpriced)
	named := slices.DeleteFunc(got.Models, func(m ModelUse) bool { return m.Model == "" })
	require.Equal(t, []ModelUse{
		{"opus", spec.Usage{Calls: 2, Prompt: 200}, 2 * spec.Dollar, 0}, {"haiku", spec.Usage{Prompt: 14}, 0, 14},
	}, named)
}
