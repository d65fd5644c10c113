package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// planned folds that a turn of the master dispatched a plan.
func planned(l *runtest.Log, turn int, p spec.Plan) {
	l.Dispatched("master", "master", turn, "b")
	l.Ended("master", turn, spec.Result{Status: spec.StatusDone, Plan: &p})
	by := map[int]string{1: "master/1", 2: "master/2", 3: "master/3"}
	l.Append("", run.PlanData{By: by[turn], DecisionRecord: p.DecisionRecord, Tasks: p.Tasks})
}

func task(id, role string, after ...string) spec.Task {
	return spec.Task{ID: id, Role: role, Brief: "b", DependsOn: after}
}

func TestAPlanFileHasWhatWritesAndWhatThatNeeds(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "the goal", Roles: runtest.Roles(), Parallel: 4}, run.Planning)
	planned(l, 1, spec.Plan{
		Constraints: []string{"Only look."}, DecisionRecord: "first",
		Tasks: []spec.Task{task("deep", "reader"), task("seen", "reader", "deep"), task("aside", "reader")},
	})
	template := task("each", "generator")
	template.Inputs, template.Shard, template.Constraints = []string{"seen/table"}, &spec.Shard{By: "file"}, []string{"Its own."}
	planned(l, 2, spec.Plan{
		Constraints: []string{"Keep the API."}, DecisionRecord: "second",
		Tasks: []spec.Task{template, task("after", "reader", "each"), task("check", "reader"), task("last", "generator", "check")},
	})
	require.Equal(t, template, plan.Source(&l.Agenda, l.Works, 1).Tasks[0])
	p := plan.File(&l.Agenda, l.Works, 1)
	var ids []string
	for _, t := range p.Tasks {
		ids = append(ids, t.ID)
	}
	require.Equal(t, []string{"deep", "seen", "each", "check", "last"}, ids)
	require.Equal(t, "the goal", p.Goal)
	require.Equal(t, "first\n\nsecond", p.DecisionRecord)
	require.Empty(t, p.Constraints)
	require.Equal(t, []string{"Only look."}, p.Tasks[0].Constraints)
	require.Equal(t, []string{"Keep the API.", "Its own."}, p.Tasks[2].Constraints)
	require.NotNil(t, p.Tasks[2].Shard, "templates are not expanded")
	require.Empty(t, p.Validate(spec.Env{Roles: l.Spec.Roles}))
	require.Equal(t, []string{"Its own."}, template.Constraints, "the run's own plan is as it was")

	planned(l, 3, spec.Plan{Tasks: []spec.Task{task("later", "reader")}})
	l.Append("", run.PlanData{By: "master/2", Request: "r", Tasks: []spec.Task{task("asked", "generator")}})
	ids = nil
	for _, t := range plan.Whole(&l.Agenda, l.Works).Tasks {
		ids = append(ids, t.ID)
	}
	require.Equal(t, []string{"deep", "seen", "aside", "each", "after", "check", "last", "later"}, ids)
}

func TestAPlanFileOfOnePlanIsThatPlan(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 4}, run.Planning)
	require.Empty(t, plan.Whole(&l.Agenda, l.Works).Tasks, "there is no plan yet")
	readers := spec.Plan{Goal: "g", Tasks: []spec.Task{task("seen", "reader")}}
	planned(l, 1, readers)
	require.Equal(t, readers, plan.Whole(&l.Agenda, l.Works))
	p := spec.Plan{Goal: "own", Constraints: []string{"Keep."}, DecisionRecord: "r", Tasks: []spec.Task{task("a", "generator")}}
	planned(l, 2, p)
	require.Equal(t, p, plan.File(&l.Agenda, l.Works, 1))

	edited := spec.Plan{Tasks: []spec.Task{task("b", "generator")}}
	edited.Tasks[0].Inputs = []string{} // an edit of the edit has it too
	l.Append("", run.PlanData{By: "master/2", Replaces: 2, Edited: &edited, Tasks: edited.Tasks})
	require.Equal(t, edited, plan.Source(&l.Agenda, l.Works, 1))

	lost := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles()}, run.Planning)
	lost.Append("", run.PlanData{By: "master/1", DecisionRecord: "r", Tasks: edited.Tasks})
	require.Equal(t, spec.Plan{DecisionRecord: "r", Tasks: edited.Tasks}, plan.Source(&lost.Agenda, lost.Works, 0), "the result cannot be read")
}

func TestWhatTheMasterRevisedIsInTheSource(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 4}, run.Planning)
	each := task("each", "generator")
	each.Shard = &spec.Shard{By: "file"}
	one := task("each-001", "generator")
	one.ShardOf = "each"
	l.Dispatched("master", "master", 1, "b")
	l.Ended("master", 1, spec.Result{Status: spec.StatusDone, Plan: &spec.Plan{Tasks: []spec.Task{task("a", "generator"), task("b", "generator"), each}}})
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{task("a", "generator"), task("b", "generator"), one}})
	files, rules := []string{"x.go"}, []string{"Keep it."}
	l.Append("a", run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: "master/2", Brief: "better", Files: &files}})
	l.Append("each-001", run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: "master/2", Constraints: &rules}})
	l.Append("b", run.TaskData{State: run.TaskCancelled})

	p := plan.Source(&l.Agenda, l.Works, 0)
	require.Len(t, p.Tasks, 2)
	require.Equal(t, spec.Task{ID: "a", Role: "generator", Brief: "better", Files: files}, p.Tasks[0])
	require.Equal(t, rules, p.Tasks[1].Constraints)
	require.NotNil(t, p.Tasks[1].Shard)
	now := l.Plans.Now(0, &l.Tasks)
	require.Equal(t, []string{"a", "each-001"}, []string{now.Tasks[0].ID, now.Tasks[1].ID})
	require.Equal(t, "better", now.Tasks[0].Brief)
	require.Equal(t, "b", l.Plans.All[0].Tasks[0].Brief, "the log's own plan is as it was")
}
