package landing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newSet is a run with a set of a generator, a codemod and a task that changed nothing, which have all handed in.
func newSet(t *testing.T, change ...func(*run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	for _, c := range change {
		c(&s)
	}
	s.Roles["codemod"] = spec.Role{Name: "codemod", Executor: spec.ExecutorCommand, Writes: true}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	var planned []spec.Task
	for _, id := range []string{"gen", "mod", "idle"} {
		role := map[string]string{"mod": "codemod"}[id]
		if role == "" {
			role = "generator"
		}
		planned = append(planned, spec.Task{ID: id, Role: role, ChangeSet: "s", Files: []string{"of-" + id, "may-" + id + "/*.go"}})
	}
	l.Plan(planned...)
	for _, id := range []string{"gen", "mod", "idle"} {
		l.Dispatched(id, "generator", 1, "b")
		r := spec.Result{Status: spec.StatusDone}
		if id != "idle" {
			r = runtest.Patched("c-"+id, "tree-"+id, "b")
			r.Patch.Files = []string{"of-" + id + "/x.go"}
		}
		l.Ended(id, 1, r)
		require.Empty(t, landing.Land(l.State), "not all of it are there")
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	return l
}

// testSet folds that the set is tested, and how that ended.
func testSet(l *runtest.Log, try int, r spec.Result) {
	l.Helper()
	d := run.LandingData{Batch: 1, State: run.LandingTesting, Old: "b", Head: "l", Tree: "tree-l", Set: "s"}
	d.Tasks = []run.Landed{{Task: "gen", Attempt: 1, Commit: "l"}, {Task: "mod", Attempt: 1, Commit: "l"}, {Task: "idle", Attempt: 1}}
	d.Dispatch = &run.Dispatch{Task: "--batch-1", Attempt: try, Role: "tester", Head: "l", Gates: []string{"test"}}
	l.Append("", d)
	l.Ended("--batch-1", try, r)
}

// With --review a person sees the patches of a set together, once all are there. A rejected one is seen again when its task has
// tried again, and not without the set.
func TestASetIsReviewedAsOne(t *testing.T) {
	t.Parallel()
	l := newSet(t, func(s *run.Spec) { s.Review = true })
	l.Do(landing.Land(l.State))
	open := decision.ForPerson(l.State)
	require.Len(t, open, 1, "one decision")
	require.Equal(t, "gen", open[0].About)
	require.Equal(t, run.TaskHeld, l.Tasks.ByID["mod"].State)
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["idle"].State, "it changed nothing")
	require.Equal(t, []string{"gen", "mod"}, open[0].Tasks)
	_, err := request.Accept(&l.Agenda, l.Works, "mod", run.Answer{By: "master/2"})
	require.ErrorContains(t, err, "waits for a person")

	actions, _, err := request.Send(&l.Agenda, &l.Agents, "mod", "Keep the comma.", wire.Person("ada"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"task mod pending the patch was rejected: Keep the comma. decided by user:ada",
	}, runtest.Describe(actions))
	l.Do(actions)
	require.Equal(t, run.TaskRunning, l.Tasks.ByID["gen"].State, "in the same event")
	l.Append("gen", run.TaskData{State: run.TaskAccepted})
	l.Dispatched("mod", "generator", 2, "b")
	r := runtest.Patched("c-mod-2", "tree-mod-2", "b")
	r.Patch.Files = []string{"of-mod/x.go"}
	l.Ended("mod", 2, r)
	require.Empty(t, decision.ForPerson(l.State), "it is at work again")
	l.Append("mod", run.TaskData{State: run.TaskAccepted})
	l.Do(landing.Land(l.State))
	require.Equal(t, "mod", decision.ForPerson(l.State)[0].About)
	require.Equal(t, []string{"gen", "mod"}, decision.ForPerson(l.State)[0].Tasks, "the whole set is shown")

	actions, err = request.Accept(&l.Agenda, l.Works, "mod", run.Answer{By: wire.Person("ada")})
	require.NoError(t, err)
	l.Do(actions)
	l.Append("mod", run.TaskData{State: run.TaskAccepted})
	merge, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Len(t, merge.Candidates, 2)
}

func TestASetIsMergedAsOne(t *testing.T) {
	t.Parallel()
	l := newSet(t)
	actions := landing.Land(l.State)
	require.Len(t, actions, 1)
	merge, ok := actions[0].(landing.Merge)
	require.True(t, ok)
	require.Equal(t, "s", merge.Set)
	require.Len(t, merge.Candidates, 2)
	chain := chainOf(merge.Candidates, nil)
	require.Equal(t, []string{"assign --batch-1/1 to tester on l-mod"}, runtest.Describe(merge.Then(chain)))

	conflict := landing.Chain{Head: "l-mod", Conflicts: []landing.Conflict{{Candidate: merge.Candidates[0], Paths: []string{"x.go"}}}}
	got := merge.Then(conflict)
	require.Equal(t, []string{"task gen pending it conflicts with landed changes, or with its change set, in x.go"}, runtest.Describe(got))
	a, ok := got[0].(run.Append)
	require.True(t, ok)
	d, ok := a.Data.(run.TaskData)
	require.True(t, ok)
	require.Equal(t, "l-mod", d.Head)
	require.False(t, d.Kept)

	testSet(l, 1, green("tree-l"))
	require.Equal(t, []string{"landing landed gen mod idle", "move the branch"}, runtest.Describe(landing.Settle(l.State)))
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l", Tree: "tree-l", Set: "s", Tasks: l.Batches.Testing[0].Tasks})
	require.Equal(t, map[run.TaskState]int{run.TaskLanded: 2, run.TaskDone: 1}, l.Tasks.Counts())
}

func TestWhoIsBlamedForARedSet(t *testing.T) {
	t.Parallel()
	const words = " pending with all tasks of its change set merged, the gates fail in files of this task: test: "
	red := func(signature string, paths ...string) spec.Result {
		r := redIn("tree-l", "")
		r.Receipts[0].Signatures, r.Receipts[0].Paths = []string{signature}, map[string][]string{signature: paths}
		r.Receipts[0].Imports = map[string][]string{"user": {"of-gen"}}
		return r
	}
	for name, c := range map[string]struct {
		result spec.Result
		want   []string
	}{
		"the task that changed the file": {
			red("build: x", "of-gen", "of-gen/x.go"), []string{"landing split gen mod idle", "task gen" + words + "build: x"},
		},
		"a command, which begins without its patch": {red("build: x", "of-mod/x.go"), []string{"landing split gen mod idle", "landing.merge"}},
		"the task that may change the file": {
			red("build: x", "may-idle/new.go"), []string{"landing split gen mod idle", "task idle" + words + "build: x"},
		},
		"a test in the directory of a task": {
			red("test: p T", "of-gen/x_test.go", "of-gen"), []string{"landing split gen mod idle", "task gen" + words + "test: p T"},
		},
		"a test of what uses a changed package": {
			red("test: p T", "user", "user/x_test.go"), []string{"landing split gen mod idle", "task gen" + words + "test: p T"},
		},
		"a caller that nothing of the set may change": {
			red("build: user/x.go: undefined: f", "user", "user/x.go"), []string{"landing split gen mod idle"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newSet(t)
			testSet(l, 1, c.result)
			require.Equal(t, []string{"landing red gen mod idle", "assign --batch-1/2 to tester on l"}, runtest.Describe(landing.Settle(l.State)))
			testSet(l, 2, c.result)
			got := runtest.Describe(landing.Settle(l.State))
			if len(c.want) == 1 {
				c.want = append(c.want, "task gen parked the change set s fails in user/x.go, which no task of it may change: "+
					"build: user/x.go: undefined: f. If it must change, a retry of run r1 can add a task for it, "+
					"tested with the submitted patch", "task mod parked its change set s was parked with gen", "task idle parked its change set s was parked with gen")
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The stack of an import that fails has files of the set, and the one that was forgotten.
func TestASetOfCommandsNamesTheFileThatItForgot(t *testing.T) {
	t.Parallel()
	l := newSet(t)
	l.Spec.Roles["codemod"] = spec.Role{
		Name: "codemod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{"sed", spec.ArgFiles},
	}
	red := redIn("tree-l", "")
	red.Receipts[0].Signatures = []string{"ImportError: x"}
	stack := map[string][]string{"ImportError: x": {"lib/types.py", "of-mod/x.go"}}
	red.Receipts[0].Paths, red.Receipts[0].Positions = stack, stack
	testSet(l, 1, red)
	l.Do(landing.Settle(l.State))
	testSet(l, 2, red)
	require.Contains(t, runtest.Describe(landing.Settle(l.State))[1], "the change set s fails in lib/types.py, which no task of it may change")
}

// Go reports each package that imports one with an error as not built.
func TestAnErrorIsNotBlamedOnWhatImportsIt(t *testing.T) {
	t.Parallel()
	for _, follows := range []string{"build: package m/cmd", "FAIL m/cmd [build failed]"} {
		l := newSet(t)
		r := redIn("tree-l", "")
		r.Receipts[0].Signatures = []string{follows, "build: of-gen/x.go: undefined: f"}
		r.Receipts[0].Paths = map[string][]string{follows: {"cmd"}, "build: of-gen/x.go: undefined: f": {"of-gen", "of-gen/x.go"}}
		testSet(l, 1, r)
		testSet(l, 2, r)
		require.Equal(t, []string{
			"landing split gen mod idle",
			"task gen pending with all tasks of its change set merged, the gates fail in files of this task: test: build: of-gen/x.go: undefined: f",
		}, runtest.Describe(landing.Settle(l.State)))
	}
}

// A failure that names nothing is each task's, also of a gate whose output cannot be compared.
func TestAFailureWithoutAPathIsOfAllTasks(t *testing.T) {
	t.Parallel()
	for _, signatures := range [][]string{{"error: it is bad"}, nil} {
		l := newSet(t)
		r := redIn("tree-l", "")
		r.Receipts[0].Signatures, r.Receipts[0].Paths = signatures, nil
		testSet(l, 1, r)
		testSet(l, 2, r)
		actions := landing.Settle(l.State)
		require.Equal(t, []string{"landing split gen mod idle", "landing.merge"}, runtest.Describe(actions))
		merge, ok := actions[1].(landing.Merge)
		require.True(t, ok)
		require.Len(t, merge.Candidates, 1, "but for the command's")
		next := merge.Then(landing.Chain{Head: "l-gen"})
		require.Len(t, next, 3)
		for i, id := range []string{"gen", "mod", "idle"} {
			a, ok := next[i].(run.Append)
			require.True(t, ok)
			d, ok := a.Data.(run.TaskData)
			require.True(t, ok)
			require.Equal(t, "l-gen", d.Head)
			require.Equal(t, id != "mod", d.Kept, id)
		}
		next = merge.Then(landing.Chain{Head: "l", Conflicts: []landing.Conflict{{Candidate: merge.Candidates[0]}}})
		a, ok := next[0].(run.Append)
		require.True(t, ok)
		d, ok := a.Data.(run.TaskData)
		require.True(t, ok)
		require.False(t, d.Kept, "what does not merge without the command's patch is not in there")
	}
}

// The verdict on a commit that the branch has left is none.
func TestASetOnAnOldHeadIsTestedAnew(t *testing.T) {
	t.Parallel()
	l := newSet(t)
	d := run.LandingData{Batch: 1, State: run.LandingTesting, Old: "older", Head: "l", Tree: "tree-l", Set: "s"}
	d.Tasks = []run.Landed{{Task: "gen", Attempt: 1, Commit: "l"}, {Task: "mod", Attempt: 1, Commit: "l"}, {Task: "idle", Attempt: 1}}
	d.Dispatch = &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: "tester", Head: "l", Gates: []string{"test"}}
	l.Append("", d)
	l.Ended("--batch-1", 1, redIn("tree-l", "of-gen/x.go"))
	require.Equal(t, []string{"landing dropped gen mod idle"}, runtest.Describe(landing.Settle(l.State)))
}

func TestASetParksWithItsFirstTask(t *testing.T) {
	t.Parallel()
	l := newSet(t)
	l.Append("gen", run.TaskData{State: run.TaskParked, Reason: "failed 3 of 3 attempts: red"})
	l.Dispatched("idle", "generator", 2, "b")
	l.Append("mod", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"fewer tests"}}})
	require.Empty(t, landing.ParkSets(l.State), "what is asked about a task of it is answered before")
	l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["mod"], run.Answer{Option: run.Accept, By: wire.Person("ada")}))
	l.Append("mod", run.TaskData{State: run.TaskAccepted})
	require.Equal(t, []string{
		"task mod parked its change set s was parked because gen is parked",
	}, runtest.Describe(landing.ParkSets(l.State)), "the agent that is at work ends before")
	require.Empty(t, landing.Land(l.State))
}

// A set that is parked for what is missing waits again with the task that has it; one with a task that failed does not.
func TestATaskIsAddedToAParkedSet(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		l := newSet(t)
		for _, id := range []string{"gen", "mod", "idle"} {
			d := run.TaskData{State: run.TaskParked, Reason: "fails in user/x.go"}
			if failed && id == "mod" {
				d.Fault = &spec.Fault{Class: wire.FaultGate, Message: "red"}
			}
			l.Append(id, d)
		}
		require.Equal(t, failed, l.Tasks.Sets["s"].Closed() != "")
		require.True(t, l.Tasks.AllEnded())
		l.Append("", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "more", Role: "generator", ChangeSet: "s"}}})
		if failed {
			require.Equal(t, "it was parked, since gen is parked: fails in user/x.go", l.Tasks.Sets["s"].Closed())
			require.Equal(t, []string{"task more parked its change set s was parked because gen is parked"},
				runtest.Describe(landing.ParkSets(l.State)))
			continue
		}
		require.Equal(t, map[run.TaskState]int{run.TaskAccepted: 3, run.TaskPending: 1}, l.Tasks.Counts())
		require.True(t, l.Tasks.NoneGivenUp())
		require.Empty(t, landing.Land(l.State))
		l.Dispatched("more", "generator", 1, "b")
		l.Ended("more", 1, runtest.Patched("c-more", "tree-more", "b"))
		l.Append("more", run.TaskData{State: run.TaskAccepted})
		merge, ok := landing.Land(l.State)[0].(landing.Merge)
		require.True(t, ok)
		require.Equal(t, "c-gen c-mod c-more", fmt.Sprint(merge.Candidates[0].Commit, " ", merge.Candidates[1].Commit, " ", merge.Candidates[2].Commit))
	}
}

// A set in which nothing was changed needs no gates.
func TestASetWithoutAChangeIsDone(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles()}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator", ChangeSet: "s"}, spec.Task{ID: "b", Role: "generator", ChangeSet: "s"})
	for _, id := range []string{"a", "b"} {
		l.Dispatched(id, "generator", 1, "b")
		l.Ended(id, 1, spec.Result{Status: spec.StatusDone})
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	require.Equal(t, []string{"task a done", "task b done"}, runtest.Describe(landing.Land(l.State)))
	l.Append("a", run.TaskData{State: run.TaskDone})
	require.Equal(t, []string{"task b done"}, runtest.Describe(landing.Land(l.State)), "a kill came between the two")
}
