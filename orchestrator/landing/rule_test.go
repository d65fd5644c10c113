package landing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newLog is a run in which the patches of the tasks are proven.
func newLog(t *testing.T, tasks ...string) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	var planned []spec.Task
	for _, id := range tasks {
		planned = append(planned, spec.Task{ID: id, Role: "generator"})
	}
	l.Plan(planned...)
	for _, id := range tasks {
		l.Dispatched(id, "generator", 1, "b")
		r := runtest.Patched("c-"+id, "tree-"+id, "b")
		r.Patch.Files = []string{"of-" + id + "/x.go"}
		if id != "a" {
			r.Patch.Files = append(r.Patch.Files, "shared")
		}
		l.Ended(id, 1, r)
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	return l
}

// described describes actions, with what follows where there is nothing to read.
func described(actions []run.Action) []string {
	if len(actions) == 1 {
		if w, ok := actions[0].(rank.Weigh); ok {
			actions = w.Then(rank.Evidence{})
		}
	}
	return runtest.Describe(actions)
}

// chainOf is what merging makes of the candidates, but for those that conflict.
func chainOf(candidates []landing.Candidate, conflicts map[string]bool) landing.Chain {
	chain := landing.Chain{Head: "b"}
	for _, c := range candidates {
		if waits, conflict := conflicts[c.Task]; conflict {
			chain.Conflicts = append(chain.Conflicts, landing.Conflict{Candidate: c, Paths: []string{"a.go"}, Waits: waits})
			continue
		}
		chain.Merged = append(chain.Merged, landing.Merged{Candidate: c, Landed: "l-" + c.Task})
		chain.Head, chain.Tree = "l-"+c.Task, "merged"
	}
	return chain
}

// batch folds that a batch of tasks is tested, on a commit.
func batch(l *runtest.Log, number, try int, old, head string, tasks ...string) {
	l.Helper()
	d := run.LandingData{Batch: number, State: run.LandingTesting, Old: old, Head: head, Tree: "tree-" + head}
	for _, id := range tasks {
		d.Tasks = append(d.Tasks, run.Landed{Task: id, Attempt: 1, Commit: "l-" + id})
	}
	d.Dispatch = &run.Dispatch{
		Task: fmt.Sprintf("--batch-%d", number), Attempt: try, Role: "tester", Head: head, Gates: []string{"test"},
	}
	l.Append("", d)
}

func green(tree string) spec.Result {
	return spec.Result{
		Status: spec.StatusDone, Receipts: []spec.Receipt{{Gate: "test", Tree: tree, Verdict: spec.VerdictPass}},
	}
}

// killed is a gate that a signal of others ended.
func killed(tree string) spec.Result {
	r := redIn(tree)
	r.Receipts[0].Killed, r.Receipts[0].Signatures = true, []string{"gate: ended by signal killed"}
	return r
}

// redIn is a red gate whose failures are each in one path.
func redIn(tree string, paths ...string) spec.Result {
	r := spec.Receipt{Gate: "test", Tree: tree, Verdict: spec.VerdictFail, ExitCode: 1, Paths: map[string][]string{}}
	r.Imports = map[string][]string{}
	for i, p := range paths {
		signature := fmt.Sprintf("test: %d", i)
		r.Signatures = append(r.Signatures, signature)
		r.Paths[signature], r.Imports[p] = []string{p}, []string{}
	}
	failed := runtest.Failed(wire.FaultGate, "test is red")
	failed.Receipts = []spec.Receipt{r}
	return failed
}

func TestLand(t *testing.T) {
	t.Parallel()
	require.Empty(t, landing.Land(newLog(t).State), "nothing waits")
	for name, c := range map[string]struct {
		conflicts map[string]bool
		log       func(l *runtest.Log)
		want      []string
	}{
		"a batch is tested": {nil, nil, []string{"assign --batch-1/1 to tester on l-c"}},
		"a proven tree lands": {
			nil, func(l *runtest.Log) {
				l.Gates(run.FinalTask, 1, "x")
				l.Ended(run.FinalTask, 1, green("merged"))
			}, []string{"landing landed a b c", "move the branch"},
		},
		"a tree that is proven for the same change lands": {nil, narrowed("b"), []string{"landing landed a b c", "move the branch"}},
		"a tree that is proven for another change is tested": {
			nil, narrowed("elsewhere"), []string{"assign --batch-1/1 to tester on l-c"},
		},
		"a tree that failed twice is split": {
			nil, func(l *runtest.Log) {
				for n := range 2 {
					l.Gates(run.FinalTask, n+1, "x")
					l.Ended(run.FinalTask, n+1, redIn("merged", "nowhere"))
				}
			}, []string{"landing split a b c parts a+b c"},
		},
		"a conflict with the head": {
			map[string]bool{"b": false},
			nil,
			[]string{"task b pending it conflicts with landed changes in a.go", "assign --batch-1/1 to tester on l-c"},
		},
		"a conflict within the batch waits": {map[string]bool{"b": true}, nil, []string{"assign --batch-1/1 to tester on l-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			if c.log != nil {
				c.log(l)
			}
			actions := landing.Land(l.State)
			require.Len(t, actions, 1)
			merge, ok := actions[0].(landing.Merge)
			require.True(t, ok)
			require.Len(t, merge.Candidates, 3)
			got := described(merge.Then(chainOf(merge.Candidates, c.conflicts)))
			require.Equal(t, c.want, got)
		})
	}
}

// narrowed has the gate pass on the merged tree, narrowed to what changed since a commit.
func narrowed(since string) func(l *runtest.Log) {
	return func(l *runtest.Log) {
		r := green("merged")
		r.Receipts[0].Since = since
		l.Gates(run.FinalTask, 1, "x")
		l.Ended(run.FinalTask, 1, r)
	}
}

func TestAPartThatIsKnownToBeRedIsCutWithoutATest(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	batch(l, 1, 1, "b", "l-c", "a", "b", "c")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a", "b"}, {"c"}}, Tasks: tasksOf("a", "b", "c")})
	l.Gates(run.FinalTask, 1, "x")
	l.Ended(run.FinalTask, 1, redIn("merged", "nowhere"))
	merge, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Equal(t, []string{"landing split a b parts a b"}, described(merge.Then(chainOf(merge.Candidates, nil))))
}

// Each gate has passed on the tree, in one run or the other.
func TestGatesThatPassAtRandomAreNotTestedWithoutEnd(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a")
	mixed := func(red, green string) spec.Result {
		r := redIn("tree-l", "nowhere")
		r.Receipts[0].Gate = red
		r.Receipts = append(r.Receipts, spec.Receipt{Gate: green, Tree: "tree-l", Verdict: spec.VerdictPass})
		return r
	}
	for n, r := range []spec.Result{mixed("x", "y"), mixed("y", "x")} {
		d := run.LandingData{Batch: 1, State: run.LandingTesting, Old: "b", Head: "l", Tree: "tree-l", Tasks: tasksOf("a")}
		d.Dispatch = &run.Dispatch{Task: "--batch-1", Attempt: n + 1, Role: "tester", Head: "l", Gates: []string{"x", "y"}}
		l.Append("", d)
		l.Ended("--batch-1", n+1, r)
	}
	require.Equal(t, []string{"landing landed a", "move the branch"}, runtest.Describe(landing.Settle(l.State)))
	require.Equal(t, []string{"x: test: 0", "y: test: 0"}, l.Proofs.Flakes())
}

// The verdict on a commit that the branch has left is none.
func TestARedPatchOnAnOldHeadIsTestedAnew(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b")
	batch(l, 1, 1, "b", "l-a", "a")
	batch(l, 2, 1, "b", "l-b", "b")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l-a", Tasks: tasksOf("a")})
	require.Equal(t, []string{"landing dropped b", "take back --batch-2", "tell --batch-2"},
		runtest.Describe(landing.Settle(l.State)), "its gates are not waited for")
	l.Ended("--batch-2", 1, redIn("tree-l-b", "of-b"))
	require.Equal(t, []string{"landing dropped b"}, runtest.Describe(landing.Settle(l.State)))
}

// What the next batch is built on, and which tasks it holds, while others are tested.
func TestLandBesideOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		permits int
		log     func(l *runtest.Log)
		onto    string
		want    []string
	}{
		"no permit is free": {1, func(l *runtest.Log) { batch(l, 1, 1, "b", "l-a", "a") }, "", nil},
		"on a batch under test": {
			2, func(l *runtest.Log) { batch(l, 1, 1, "b", "l-a", "a") }, "l-a", []string{"b", "c"},
		},
		"one at a time": {1, func(l *runtest.Log) { l.Spec.Project.Prove = spec.ProveEach }, "b", []string{"a"}},
		"the first part": {
			1, func(l *runtest.Log) {
				batch(l, 1, 1, "b", "l-b", "a", "b")
				l.Append("", run.LandingData{Batch: 1, State: run.LandingSplit, Parts: [][]string{{"b"}, {"a"}}, Tasks: tasksOf("a", "b")})
			}, "b", []string{"b"},
		},
		"the second part, on the integration head": {
			2, func(l *runtest.Log) {
				batch(l, 1, 1, "b", "l-b", "a", "b")
				l.Append("", run.LandingData{Batch: 1, State: run.LandingSplit, Parts: [][]string{{"b"}, {"a"}}, Tasks: tasksOf("a", "b")})
				batch(l, 2, 1, "b", "l-b", "b")
			}, "b", []string{"a"},
		},
		"nothing else while parts are tested": {
			2, func(l *runtest.Log) {
				batch(l, 1, 1, "b", "l-a", "a")
				l.Append("", run.LandingData{Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a"}}, Tasks: tasksOf("a")})
				batch(l, 2, 1, "b", "l-a", "a")
			}, "", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			l.Spec.Project.GatePermits = c.permits
			c.log(l)
			actions := landing.Land(l.State)
			if c.want == nil {
				require.Empty(t, actions)
				return
			}
			require.Len(t, actions, 1)
			merge, ok := actions[0].(landing.Merge)
			require.True(t, ok)
			require.Equal(t, c.onto, merge.Onto)
			var got []string
			for _, candidate := range merge.Candidates {
				got = append(got, candidate.Task)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func tasksOf(ids ...string) (out []run.Landed) {
	for _, id := range ids {
		out = append(out, run.Landed{Task: id, Attempt: 1, Commit: "l-" + id})
	}
	return out
}

func TestSettle(t *testing.T) {
	t.Parallel()
	disk := runtest.Failed(wire.FaultInternal, "disk")
	unlaid := runtest.Failed(wire.FaultTree, "its name is too long")
	for name, c := range map[string]struct {
		tasks   []string
		results []spec.Result
		want    []string
	}{
		"green moves the branch": {[]string{"a", "b"}, []spec.Result{green("tree-l")}, []string{"landing landed a b", "move the branch"}},
		"green on another tree runs again": {
			[]string{"a"}, []spec.Result{green("other")}, []string{"landing red a", "assign --batch-1/2 to tester on l"},
		},
		"red is split in two": {[]string{"a", "b", "c"}, []spec.Result{redIn("tree-l")}, []string{"landing split a b c parts a+b c"}},
		"red is split by its suspect": {
			[]string{"a", "b", "c"}, []spec.Result{redIn("tree-l", "of-b/x.go")}, []string{"landing split a b c parts a+c b"},
		},
		"a suspect explains a failure that leads to others too": {
			[]string{"a", "b", "c"}, []spec.Result{redIn("tree-l", "of-b", "shared")}, []string{"landing split a b c parts a+c b"},
		},
		"of several suspects one is left out": {
			[]string{"a", "b", "c"}, []spec.Result{redIn("tree-l", "shared")}, []string{"landing split a b c parts a+b c"},
		},
		"suspects of a failure each are tested together": {
			[]string{"a", "b", "c"}, []spec.Result{redIn("tree-l", "of-b", "of-c")}, []string{"landing split a b c parts a b+c"},
		},
		"red alone runs once more": {[]string{"a"}, []spec.Result{redIn("tree-l")}, []string{"landing red a", "assign --batch-1/2 to tester on l"}},
		"red alone and green lands": {
			[]string{"a"}, []spec.Result{redIn("tree-l"), green("tree-l")}, []string{"landing landed a", "move the branch"},
		},
		"red twice alone goes back": {
			[]string{"a"}, []spec.Result{redIn("tree-l"), redIn("tree-l")}, []string{"landing split a", "task a pending test is red"},
		},
		"a gate that was killed runs again, and nothing is split": {
			[]string{"a", "b"}, []spec.Result{killed("tree-l")}, []string{"landing red a b", "assign --batch-1/2 to tester on l"},
		},
		"killed twice it runs once more": {
			[]string{"a"}, []spec.Result{killed("tree-l"), killed("tree-l")}, []string{"landing red a", "assign --batch-1/3 to tester on l"},
		},
		"killed and green lands": {
			[]string{"a"}, []spec.Result{killed("tree-l"), killed("tree-l"), green("tree-l")}, []string{"landing landed a", "move the branch"},
		},
		"killed each time goes back": {
			[]string{"a"},
			[]spec.Result{killed("tree-l"), killed("tree-l"), killed("tree-l")},
			[]string{"landing split a", "task a pending test is red"},
		},
		"without receipts it has more tries": {
			[]string{"a"}, []spec.Result{disk, disk}, []string{"landing red a", "assign --batch-1/3 to tester on l"},
		},
		"gates that cannot be run blame no task": {
			[]string{"a"}, []spec.Result{disk, disk, disk, disk}, []string{"fail: the gates of batch 1 could not be run: disk"},
		},
		"a tree that cannot be laid out is its patch's fault": {
			[]string{"a"}, []spec.Result{unlaid}, []string{"landing split a", "task a pending its name is too long"},
		},
		"in a run that it stopped before": {
			[]string{"a"}, []spec.Result{disk, disk, disk, disk, unlaid}, []string{"landing split a", "task a pending its name is too long"},
		},
		"among others it is looked for": {
			[]string{"a", "b", "c"}, []spec.Result{unlaid}, []string{"landing split a b c parts a b+c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			for i, r := range c.results {
				batch(l, 1, i+1, "b", "l", c.tasks...)
				require.Empty(t, landing.Settle(l.State), "outstanding")
				l.Ended("--batch-1", i+1, r)
			}
			require.Equal(t, c.want, described(landing.Settle(l.State)))
		})
	}
}

func TestSettleOfBatchesOnOthers(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	l.Spec.Project.GatePermits = 3
	batch(l, 1, 1, "b", "l-a", "a")
	batch(l, 2, 1, "l-a", "l-b", "b")
	batch(l, 3, 1, "l-b", "l-c", "c")
	l.Ended("--batch-2", 1, green("tree-l-b"))
	require.Empty(t, landing.Settle(l.State), "it waits for the one that it is built on")
	l.Ended("--batch-1", 1, redIn("tree-l-a"))
	again := landing.Settle(l.State)
	require.Equal(t, []string{"landing red a", "assign --batch-1/2 to tester on l-a"}, runtest.Describe(again))
	batch(l, 1, 2, "b", "l-a", "a")
	l.Ended("--batch-1", 2, redIn("tree-l-a"))
	require.Equal(t, []string{
		"landing dropped c", "take back --batch-3", "tell --batch-3", "landing dropped b", "landing split a", "task a pending test is red",
	}, runtest.Describe(landing.Settle(l.State)))
}

// Another part has landed since the batch was built: it is merged and tested again.
func TestAGreenPartOnAnOldHeadWaitsAgain(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b")
	batch(l, 1, 1, "b", "l-a", "a")
	batch(l, 2, 1, "b", "l-b", "b")
	l.Ended("--batch-2", 1, green("tree-l-b"))
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l-a", Tasks: tasksOf("a")})
	require.Equal(t, []string{"landing dropped b"}, runtest.Describe(landing.Settle(l.State)))
}

// Its gates have passed on its tree in another run; the branch is elsewhere, and would lose what has landed.
func TestAPartThatIsProvenOnAnOldHeadWaitsAgain(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	batch(l, 1, 1, "b", "l-a", "a")
	batch(l, 2, 1, "b", "l-c", "b", "c")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l-a", Tasks: tasksOf("a")})
	l.Gates(run.FinalTask, 1, "x")
	l.Ended(run.FinalTask, 1, green("tree-l-c"))
	l.Ended("--batch-2", 1, redIn("tree-l-c", "nowhere"))
	require.Equal(t, []string{"landing dropped b c"}, runtest.Describe(landing.Settle(l.State)))
}

// A patch whose failures lead to what others changed is told their names.
func TestARedPatchIsToldWhatItMet(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c")
	batch(l, 1, 1, "b", "l-a", "a", "b")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "l-b", Tasks: tasksOf("a", "b")})
	for n := range 2 {
		batch(l, 2, n+1, "l-b", "l-c", "c")
		l.Ended("--batch-2", n+1, redIn("tree-l-c", "of-a/x.go"))
	}
	require.Equal(t, []string{
		"landing split c", "task c pending red together with a, which landed before it: test is red",
	}, runtest.Describe(landing.Settle(l.State)))
}

func TestABatchWithoutReceiptsDoesNotLand(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a")
	batch(l, 1, 1, "b", "h", "a")
	l.Ended("--batch-1", 1, spec.Result{Status: spec.StatusDone})
	for _, did := range described(landing.Settle(l.State)) {
		require.NotContains(t, did, "landed")
	}
	l = newLog(t, "a")
	batch(l, 1, 1, "b", "h", "a")
	l.Ended("--batch-1", 1, green("tree-h"))
	require.Contains(t, fmt.Sprint(described(landing.Settle(l.State))), "landed")
}
