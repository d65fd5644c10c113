package assign

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func planned(t *testing.T, s *run.State, d run.PlanData) {
	t.Helper()
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	require.NoError(t, s.Apply(&contextscope.Event{Kind: contextscope.KindPlan, Data: raw}))
}

func TestConstraintsGoToEveryDescendant(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Plan = &spec.Plan{Constraints: []string{"of the run"}}
	add := func(by, id string, constraints ...string) {
		planned(t, s, run.PlanData{By: by, Tasks: []spec.Task{{ID: id, Constraints: constraints}}})
	}
	add(run.ByFile, "parent", "of the run", "of the parent")
	add("parent/2", "child", "of the child", "of the parent")
	add("child/1", "grandchild", "its own")
	add("master/1", "of-the-master", "its own")
	add("later/1", "orphan", "its own")
	add(run.ByFile, "later", "too late")
	for id, want := range map[string][]string{
		"parent": {"of the run", "of the parent"}, "child": {"of the run", "of the parent", "of the child"},
		"grandchild":    {"of the run", "of the parent", "of the child", "its own"},
		"of-the-master": {"of the run", "its own"}, "orphan": {"of the run", "its own"},
	} {
		require.Equal(t, want, s.Constraints(s.Tasks.ByID[id]), id)
	}
	s.Spec.Plan = nil
	require.Equal(t, []string{"its own"}, s.Constraints(s.Tasks.ByID["of-the-master"]))
	require.Empty(t, s.Constraints(&run.Task{}))
}

func TestSliceCapLeavesHalfOfTheWindow(t *testing.T) {
	t.Parallel()
	caps := func(window, brief int) int {
		a := &wire.Assignment{
			Role: spec.Role{Model: "m", Instruction: strings.Repeat("i", 400)}, DecisionRecord: strings.Repeat("r", 4_000_000),
			Task:    spec.Task{ID: "t", Brief: strings.Repeat("b", brief)},
			Project: spec.Project{Models: map[string]spec.Model{"m": {Window: window, MaxOutput: window / 5}}},
		}
		return sliceCap(a)
	}
	require.Equal(t, 46_080, caps(0, 100), "a window that the project does not say is a careful guess")
	require.Equal(t, 300_000, caps(1_000_000, 4_000), "half, less what is fixed, rounded up to an eighth")
	require.Equal(t, caps(1_000_000, 100), caps(1_000_000, 300_000), "siblings of about the same size have the same cap")
	require.Equal(t, 200_000, caps(1_000_000, 500_000))
	require.Equal(t, 1, caps(10_000, 10), "nothing is left: the decision record alone")
}

func TestArtifactsAreFoundByNameOrHandle(t *testing.T) {
	t.Parallel()
	handles := []string{
		"artifact/r1/survey/1/table-0123456789ab", "artifact:survey/list@1#01234567", "artifact:survey/list@2#89abcdef", "odd one",
		"artifact/r1/survey/1/run_command-output-c1-0123456789ab",
	}
	for name, want := range map[string]string{
		"table": handles[0], handles[0]: handles[0], "list": handles[2], "survey/list": handles[2], handles[1]: handles[1],
		"odd one": handles[3], "tab": "", "": "", "run_command-output-c1": handles[4],
	} {
		require.Equal(t, want, artifactOf(handles, name), name)
	}
	require.Empty(t, artifactOf(nil, "x"))
}

func TestAnArtifactBringsNoSession(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	planned(t, s, run.PlanData{By: run.ByFile, Tasks: []spec.Task{
		{ID: "a"},
		{ID: "b"},
		{ID: "t-001", ShardOf: "t"},
		{ID: "t-002", ShardOf: "t"},
		{ID: "pending"},
		{ID: "x", Inputs: []string{"t", "pending", "b/table", "a/table", "a"}},
	}})
	for _, id := range []string{"a", "b", "t-001", "t-002"} {
		s.Tasks.ByID[id].Result = &spec.Result{}
	}
	var whole []string
	for _, v := range wholeInputs(&s.Tasks, s.Tasks.ByID["x"]) {
		whole = append(whole, v.Task.ID)
	}
	require.Equal(t, []string{"a", "t-001", "t-002"}, whole, "in plan order, b brings its artifact alone")
	var handed []string
	for _, w := range wantedBy(&s.Tasks, s.Tasks.ByID["x"]) {
		handed = append(handed, w.task.Task.ID+"/"+w.artifact)
	}
	require.Equal(t, []string{"t-001/", "t-002/", "b/table", "a/table", "a/"}, handed, "in the order of the inputs")
}

// The gates of the base commit alone are marked: what they run is the user's, without a patch.
func TestTheBaselineIsOnTheBaseCommit(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Roles = map[string]spec.Role{spec.RoleTester: {Name: spec.RoleTester}}
	for task, base := range map[string]bool{run.BaselineTask: true, run.FlakesTask: true, run.BatchTask: false, run.FinalTask: false} {
		a, err := (&given{Sealer: &Sealer{}, st: s}).assignment(t.Context(), &run.Dispatch{Task: task, Role: spec.RoleTester})
		require.NoError(t, err)
		require.Equal(t, base, a.Base, task)
	}
}
