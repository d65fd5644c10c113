package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestAPlanThatWasSentBackLeavesNothing(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 4}, run.Running)
	gen := func(id string, after ...string) spec.Task {
		return spec.Task{ID: id, Role: "generator", DependsOn: after}
	}
	shard := func(id string) spec.Task {
		return spec.Task{ID: id, Role: "generator", ShardOf: "all", ChangeSet: "set"}
	}
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "seen", Role: "reader"}}})
	l.Append("", run.PlanData{
		By: "master/2", DecisionRecord: "old", Tasks: []spec.Task{gen("a", "all"), shard("all-001"), shard("all-002"), gen("dropped")},
	})
	l.Append("", run.PlanData{By: "master/3", Tasks: []spec.Task{gen("far", "near"), gen("near", "all"), gen("apart", "seen")}})
	l.Append("dropped", run.TaskData{State: run.TaskCancelled})
	s := l.State
	require.Equal(t, 1, s.Plans.ToApprove())
	l.Append("", run.Data{Decision: &run.Decided{
		Kind: run.DecidePlan, Plan: 1, Closed: true, Answer: run.Answer{ID: "plan-2.0", Text: "Leave a alone"},
	}})

	require.Equal(t, []string{"seen", "apart"}, s.Tasks.Order)
	require.Len(t, s.Tasks.ByID, 2)
	require.Empty(t, s.Tasks.Shards)
	require.Empty(t, s.Tasks.Sets["set"].Closed())
	require.Nil(t, s.Tasks.Set(&run.Task{Task: shard("x")}))
	require.True(t, s.Tasks.NoneGivenUp())
	require.Equal(t, map[run.TaskState]int{run.TaskPending: 2}, positive(s.Tasks.Counts()))
	require.Empty(t, s.Plans.All[1].DecisionRecord)
	require.Equal(t, 2, s.Plans.ToApprove(), "the next plan still waits")
	messages := s.Messages.To(run.MasterTask, 0)
	require.Len(t, messages, 1)
	require.Regexp(t, `^Leave a alone\n\n.*nothing of it was started`, messages[0].Text)

	l.Append("", run.PlanData{By: "master/4", Tasks: []spec.Task{gen("a", "all"), shard("all-001")}})
	require.Equal(t, []string{"seen", "apart", "a", "all-001"}, s.Tasks.Order)
	met, lost, known := s.Tasks.Depends("all")
	require.False(t, met)
	require.Nil(t, lost)
	require.True(t, known)
	var open []string
	for v := range s.Tasks.Open() {
		open = append(open, v.Task.ID)
	}
	require.Equal(t, s.Tasks.Order, open, "plan order")
}

func TestAnEditedPlanTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 4}, run.Running)
	gen := func(id string, after ...string) spec.Task {
		return spec.Task{ID: id, Role: "generator", DependsOn: after}
	}
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{gen("kept"), gen("gone")}})
	l.Append("", run.PlanData{By: "master/2", Tasks: []spec.Task{gen("far", "near"), gen("near", "gone"), gen("apart", "kept")}})
	s := l.State
	l.Append("kept", run.TaskData{State: run.TaskCancelled})
	l.Append("", run.PlanData{By: "master/1", Replaces: 1, DecisionRecord: "new", Tasks: []spec.Task{gen("kept", "more"), gen("more")}})
	require.Equal(t, []string{"apart", "kept", "more"}, s.Tasks.Order)
	require.Equal(t, run.TaskPending, s.Tasks.ByID["kept"].State)
	require.True(t, s.Tasks.NoneGivenUp())
	require.Len(t, s.Plans.All, 2)
	require.Equal(t, "new", s.Plans.All[0].DecisionRecord)
	require.Equal(t, 0, s.Tasks.ByID["more"].Plan)
	require.Equal(t, 2, s.Master.Woken)
	require.Equal(t, 0, s.Plans.ToApprove(), "it is asked about again")

	l.Append("", run.PlanData{By: "master/1", Replaces: 1, Tasks: []spec.Task{{ID: "kept", Role: "reader"}}})
	require.Equal(t, []string{"apart", "kept"}, s.Tasks.Order)
	require.Equal(t, 1, s.Plans.ToApprove(), "readers alone need no approval")
	l.Append("", run.PlanData{By: "master/1", Replaces: 9, Tasks: []spec.Task{gen("x")}})
	require.Equal(t, []string{"apart", "kept"}, s.Tasks.Order, "there is no such plan")
	l.Append("", run.Data{Decision: &run.Decided{
		Kind: run.DecidePlan, Plan: 1, Closed: true, Answer: run.Answer{ID: "plan-2.0", Option: run.Yes},
	}})
	require.Equal(t, -1, s.Plans.ToApprove())
}

func TestMailOfTheMaster(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 4}, run.Running)
	turn := func(n int) { l.Dispatched("master", "master", n, "b") }
	ended := func(d run.TaskData) { d.State = run.TaskPending; l.Append("master", d) }
	turn(1)
	require.False(t, l.MasterHasMail())
	l.Message("master", "one")
	require.True(t, l.MasterHasMail())
	l.Agent("master", 1, contextscope.KindSteering, wire.Steered{ID: l.Messages.All[0].ID})
	require.True(t, l.MasterHasMail(), "the turn that has it goes on")
	ended(run.TaskData{})
	require.False(t, l.MasterHasMail())
	l.Message("master", "two")
	turn(2)
	require.True(t, l.MasterHasMail())
	ended(run.TaskData{Fault: &spec.Fault{Message: "x"}})
	require.True(t, l.MasterHasMail(), "the turn failed")
	turn(3)
	ended(run.TaskData{Again: true})
	require.True(t, l.MasterHasMail(), "the turn was interrupted")
	turn(4)
	ended(run.TaskData{})
	require.False(t, l.MasterHasMail())
	l.Message("master", "three")
	for n := 5; l.Master.GaveUp() == ""; n++ {
		turn(n)
		ended(run.TaskData{Fault: &spec.Fault{Message: "x"}})
	}
	require.False(t, l.MasterHasMail(), "it reads nothing any more")
}

func positive(counts map[run.TaskState]int) map[run.TaskState]int {
	out := map[run.TaskState]int{}
	for state, n := range counts {
		if n > 0 {
			out[state] = n
		}
	}
	return out
}
