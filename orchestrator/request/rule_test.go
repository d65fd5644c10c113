package request

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// asking is a run in which the agent of the task t asked for something.
func asking(t *testing.T, q wire.Request) *runtest.Log {
	t.Helper()
	roles := runtest.Roles()
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: roles, Parallel: 4}, run.Running)
	l.Plan(spec.Task{ID: "t", Role: "generator", Files: []string{"a.go"}}, spec.Task{ID: "u", Role: "generator", Files: []string{"u.go"}})
	l.Dispatched("t", "generator", 1, "b")
	l.Dispatched("u", "generator", 1, "b")
	if q.ID == "" {
		q.ID = "t/1/" + q.Kind + "-1-0"
	}
	l.Agent("t", 1, contextscope.KindRequest, q)
	return l
}

// The files of a set are free when all of its tasks have landed, which the one that waits for its child keeps back.
func TestNoChildWritesWhatItsChangeSetHolds(t *testing.T) {
	t.Parallel()
	roles := runtest.Roles()
	roles["other"] = spec.Role{Name: "other", Executor: spec.ExecutorModel, Writes: true, Tools: []string{spec.ToolWriteFile}}
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: roles, Parallel: 4}, run.Running)
	l.Plan(
		spec.Task{ID: "t", Role: "generator", Files: []string{"a.go"}, ChangeSet: "s"},
		spec.Task{ID: "u", Role: "generator", Files: []string{"u.go"}, ChangeSet: "s"},
	)
	l.Dispatched("t", "generator", 1, "b")
	l.Dispatched("u", "generator", 1, "b")
	l.Ended("u", 1, runtest.Patched("c-u", "tree-u", "b"))
	l.Append("u", run.TaskData{State: run.TaskAccepted})
	l.Agent("t", 1, contextscope.KindRequest, wire.Request{
		ID: "t/1/delegate-1-0", Kind: wire.RequestDelegate, Role: "other", Brief: "write", Files: []string{"u.go"},
	})
	require.Equal(t, []string{
		"answer t u.go is locked by u until your change set lands: leave it out, or name it in deviations",
	}, runtest.Describe(Settle(l.State)))
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    wire.Request
		want []string
	}{
		"delegation":            {wire.Request{Kind: wire.RequestDelegate, Role: "reader", Brief: "look"}, []string{"expand"}},
		"an unknown role":       {wire.Request{Kind: wire.RequestDelegate, Role: "reeder", Brief: "look"}, []string{`answer t role "reeder" is not one that you can name; these are generator, reader, reviewer (did you mean "reader"?)`}},
		"a transfer":            {wire.Request{Kind: wire.RequestTransfer, Role: "reader"}, []string{"answer t role reader writes nothing, and your task is one that writes"}},
		"a free path":           {wire.Request{Kind: wire.RequestScope, Paths: []string{"b.go"}}, []string{"answer t yours to write from now on: b.go"}},
		"a path that is locked": {wire.Request{Kind: wire.RequestScope, Paths: []string{"u.go"}}, []string{"answer t u.go is locked by u. Do not work around it: finish the rest, and report the needed change in deviations, as a follow-up task"}},
		"a message":             {wire.Request{Kind: wire.RequestSend, Task: "u", Text: "x"}, []string{"answer t only the master can write to others"}},
		"a question":            {wire.Request{Kind: wire.RequestAsk, Question: "Which?"}, []string{}},
		"an unknown kind":       {wire.Request{Kind: "x"}, []string{`answer t unknown request kind "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, runtest.Describe(Settle(asking(t, c.q).State)))
		})
	}
}

// delegated is a run in which the agent of t waits for its child, whose id it returns too.
func delegated(t *testing.T) (*runtest.Log, string) {
	t.Helper()
	l := asking(t, wire.Request{Kind: wire.RequestDelegate, Role: "reader", Brief: "look"})
	expand, ok := Settle(l.State)[0].(run.Expand)
	require.True(t, ok)
	refused := runtest.Describe(expand.Then(run.PlanData{}, []spec.Problem{{Path: "tasks[0].brief", Message: "is empty"}}))
	require.Len(t, refused, 1)
	require.Contains(t, refused[0], "answer t nothing was dispatched; fix: - brief")
	for _, a := range expand.Then(run.PlanData{Tasks: expand.Plan.Tasks}, nil) {
		l.Append("", a.(run.Append).Data)
	}
	require.Empty(t, Settle(l.State), "the child has not ended")
	return l, expand.Plan.Tasks[0].ID
}

func TestAChildAnswersItsParentWhenItEnds(t *testing.T) {
	t.Parallel()
	l, child := delegated(t)
	require.Equal(t, "t-reader-1-0", child)
	l.Append(child, run.TaskData{State: run.TaskParked, Reason: "no"})
	actions := Settle(l.State)
	require.Len(t, actions, 1)
	a, ok := actions[0].(run.Append).Data.(wire.Answer)
	require.True(t, ok)
	require.Equal(t, spec.StatusFailed, a.Status)
	require.Equal(t, "no", a.Fault.Message)
}

func TestAChildWithoutItsParentIsCancelled(t *testing.T) {
	t.Parallel()
	l, child := delegated(t)
	l.Dispatched(child, "reader", 1, "b")
	require.Empty(t, CancelOrphans(l.State))
	l.Append("t", run.TaskData{State: run.TaskCancelled})
	require.Equal(t, []string{
		"task " + child + " cancelled t/1, which had asked for it, has ended", "take back " + child, "tell " + child,
	}, runtest.Describe(CancelOrphans(l.State)))
}

func TestSend(t *testing.T) {
	t.Parallel()
	l := asking(t, wire.Request{Kind: wire.RequestAsk, Question: "Which?"})
	for to, want := range map[string][]string{
		"t": {"answer t That."}, "u": {"write to u: That.", "tell u"},
	} {
		actions, _, err := Send(&l.Agenda, &l.Agents, to, "That.", wire.Person("ada"))
		require.NoError(t, err)
		require.Equal(t, want, runtest.Describe(actions))
	}
	for to, want := range map[string]string{"": "has a plan file and no master", "tt": `no task "tt" (did you mean "t"?)`} {
		_, _, err := Send(&l.Agenda, &l.Agents, to, "That.", wire.Person("ada"))
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, new(*RefusedError))
	}
	l.Append("u", run.TaskData{State: run.TaskDone})
	_, _, err := Send(&l.Agenda, &l.Agents, "u", "That.", wire.Person("ada"))
	require.ErrorContains(t, err, "u has ended and is done")
	_, err = Cancel(&l.Agenda, l.Works, "u", "why", "user")
	require.ErrorContains(t, err, "u has ended and is done")
}

func TestReportLateReportsEachMessageOnce(t *testing.T) {
	t.Parallel()
	l := asking(t, wire.Request{Kind: wire.RequestAsk, Question: "Which?"})
	for _, words := range []string{"Keep the name.", "Keep the type.", "Keep the name."} {
		l.Message("t", words)
	}
	l.Message("u", "Stop.")
	require.Empty(t, ReportLate(l.State), "the tasks have not ended")
	l.Append("t", run.TaskData{State: run.TaskDone})
	l.Append("u", run.TaskData{State: run.TaskParked})
	actions := ReportLate(l.State)
	late := `t is done, and no agent of it received %q: it came too late. If the result is not enough, start another run`
	notices := []string{fmt.Sprintf(late, "Keep the name."), fmt.Sprintf(late, "Keep the type.")}
	require.Equal(t, []run.Action{run.Append{Task: "t", Data: run.Data{Notices: notices}}}, actions)

	l.Append("t", run.Data{Notices: notices})
	require.Empty(t, ReportLate(l.State))
}

// A master decides nothing that a person has answered, about one patch or about several.
func TestNoMasterDecidesOverAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given   run.Decided
		refused bool
	}{
		"about it":          {run.Decided{Kind: run.DecidePatch, About: "t"}, true},
		"about a group":     {run.Decided{Kind: run.DecidePatch, With: []string{"s", "t"}}, true},
		"about others":      {run.Decided{Kind: run.DecidePatch, With: []string{"s"}}, false},
		"an act held back":  {run.Decided{Kind: run.DecideAct, With: []string{"t"}}, false},
		"closed long since": {run.Decided{Kind: run.DecidePatch, With: []string{"t"}, Closed: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 4}, run.Running)
			l.Dispatched(run.MasterTask, spec.RoleMaster, 1, "b")
			l.Plan(spec.Task{ID: "t", Role: "generator", Files: []string{"a.go"}})
			l.Dispatched("t", "generator", 1, "b")
			l.Ended("t", 1, runtest.Patched("c", "tree", "b"))
			c.given.Answer = run.Answer{ID: "x@1", Option: run.Reject, By: wire.Person("ada")}
			l.Append("", run.Data{Decision: &c.given})
			l.Append("t", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"why"}}})
			l.Agent(run.MasterTask, 1, contextscope.KindRequest, wire.Request{
				ID: "master/1/send-1-0", Kind: wire.RequestSend, Task: "t", Accept: true,
			})
			done := runtest.Describe(Settle(l.State))
			require.Equal(t, c.refused, slices.Contains(done, "answer master user has answered what t waits for"), done)
		})
	}
}
