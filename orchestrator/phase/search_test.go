package phase_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// branch is a run whose batches have landed. The head of batch n is h<n>, and red reports whether a gate fails on its tree.
type branch struct {
	*runtest.Log
	trees []string // of the batches, from the first one on
	red   func(tree, gate string) bool
	runs  map[string]int // of a gate on a tree
	epoch int
}

func newBranch(t *testing.T, trees []string, red func(tree, gate string) bool) *branch {
	t.Helper()
	b := &branch{newLog(t, run.Final, func(s *run.Spec) {
		s.Project.Gates = []spec.Gate{{Name: "build"}, {Name: "test"}}
	}), trees, red, map[string]int{}, 0}
	b.Gates(run.BaselineTask, 1, "b")
	b.Ended(run.BaselineTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{
		{Gate: "build", Tree: "base", Verdict: spec.VerdictPass}, {Gate: "test", Tree: "base", Verdict: spec.VerdictPass},
	}})
	old := "b"
	for i, tree := range trees {
		id, head := fmt.Sprintf("t%d", i+1), fmt.Sprintf("h%d", i+1)
		b.Plan(spec.Task{ID: id, Role: "generator"})
		// Each has passed narrowed to its own change.
		b.Append("", run.LandingData{
			Batch: i + 1, State: run.LandingLanded, Old: old, Head: head, Tree: tree, Tasks: []run.Landed{{Task: id, Commit: head}},
			Receipts: []spec.Receipt{
				{Gate: "build", Tree: tree, Since: old, Verdict: spec.VerdictPass}, {Gate: "test", Tree: tree, Since: old, Verdict: spec.VerdictPass},
			},
		})
		old = head
	}
	return b
}

// result is that of gates on a commit of the branch.
func (b *branch) result(head string, gates []string) spec.Result {
	var n int
	_, err := fmt.Sscanf(head, "h%d", &n)
	require.NoError(b, err)
	r := spec.Result{Status: spec.StatusDone}
	for _, gate := range gates {
		tree := b.trees[n-1]
		receipt := spec.Receipt{Gate: gate, Tree: tree, Verdict: spec.VerdictPass}
		if b.runs[tree+" "+gate]++; b.red(tree, gate) {
			receipt.Verdict, r.Status, r.Error = spec.VerdictFail, spec.StatusFailed, &spec.Fault{Class: wire.FaultGate, Message: "red"}
		}
		r.Receipts = append(r.Receipts, receipt)
	}
	return r
}

// finish runs what the rule proposes, up to the end of the run. The process is killed now and then: between two gate runs, or
// while one is outstanding.
func (b *branch) finish(killed func() bool) run.Data {
	for range 100 {
		actions := phase.Finish(b.State, b.trees[len(b.trees)-1])
		require.Len(b, actions, 1)
		switch a := actions[0].(type) {
		case run.End:
			return a.Data
		case run.Append:
			b.Append("", a.Data)
		case run.Assign:
			b.Append("", a.Data)
			if killed() {
				b.kill()
				require.Empty(b, phase.Finish(b.State, b.trees[len(b.trees)-1]), "the gate run is outstanding")
			}
			b.Ended(a.Dispatch.Task, a.Dispatch.Attempt, b.result(a.Dispatch.Head, a.Dispatch.Gates))
			if killed() {
				b.kill()
			}
		}
	}
	require.Fail(b, "it does not end")
	return run.Data{}
}

func (b *branch) kill() {
	b.epoch++
	b.Append("", run.Data{Epoch: b.epoch})
}

func never() bool { return false }

func TestTheFinalGatesRunInFull(t *testing.T) {
	t.Parallel()
	b := newBranch(t, []string{"one", "two"}, func(string, string) bool { return false })
	require.Equal(t, run.Done, b.finish(never).State)
	require.Equal(t, map[string]int{"two build": 1, "two test": 1}, b.runs)
	require.Nil(t, b.Batches.FirstRed())
}

// One gate has passed in full on the last tree: it does not run again.
func TestTheFinalGatesAreThoseThatTheTreeLacks(t *testing.T) {
	t.Parallel()
	b := newBranch(t, []string{"one", "two"}, func(string, string) bool { return false })
	b.Append("", run.LandingData{Batch: 3, State: run.LandingLanded, Old: "h2", Head: "h3", Tree: "three", Receipts: []spec.Receipt{
		{Gate: "build", Tree: "three", Verdict: spec.VerdictPass}, {Gate: "test", Tree: "three", Since: "h2", Verdict: spec.VerdictPass},
	}})
	b.trees = append(b.trees, "three")
	require.Equal(t, run.Done, b.finish(never).State)
	require.Equal(t, map[string]int{"three test": 1}, b.runs)
	require.Equal(t, []string{"build", "test"}, []string{b.Final[0].Gate, b.Final[1].Gate})
}

func TestARedFinalGateNamesTheFirstRedBatch(t *testing.T) {
	t.Parallel()
	trees := []string{"one", "two", "three", "four", "five", "six", "seven", "eight"}
	b := newBranch(t, trees, func(tree, gate string) bool {
		return gate == "test" && (tree == "six" || tree == "seven" || tree == "eight")
	})
	end := b.finish(never)
	require.Equal(t, run.Parked, end.State)
	require.Equal(t, "the final gates are redder than the baseline, first after batch 6: t6", end.Reason)
	require.Equal(t, map[string]int{"eight build": 1, "eight test": 2, "four test": 1, "six test": 1, "five test": 1}, b.runs)
	require.Equal(t, "h6", b.Batches.FirstRed().Head)
}

func TestTheSearchUsesWhatIsKnown(t *testing.T) {
	t.Parallel()
	red := func(tree, _ string) bool { return tree == "four" }
	for name, c := range map[string]struct {
		trees  []string
		before func(b *branch)
		runs   map[string]int
		first  int
	}{
		"the only batch": {[]string{"four"}, nil, map[string]int{"four build": 2, "four test": 2}, 1},
		"a tree that is known to be green": {
			[]string{"one", "two", "three", "four"}, func(b *branch) {
				b.Gates(run.FinalTask, 1, "h3")
				b.Ended(run.FinalTask, 1, b.result("h3", []string{"build", "test"}))
			}, map[string]int{"three build": 1, "three test": 1, "four build": 2, "four test": 2}, 4,
		},
		"the same tree again": {
			[]string{"one", "one", "one", "four"},
			nil,
			map[string]int{"one build": 1, "one test": 1, "four build": 2, "four test": 2},
			4,
		},
		"the tree of the base commit": {
			[]string{"base", "four"}, nil, map[string]int{"four build": 2, "four test": 2}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBranch(t, c.trees, red)
			if c.before != nil {
				c.before(b)
			}
			require.Equal(t, run.Parked, b.finish(never).State)
			require.Equal(t, c.runs, b.runs)
			require.Equal(t, c.first, b.Batches.FirstRed().Batch)
		})
	}
}

// Runs without receipts say nothing of the tree.
func TestASearchWhoseGatesCannotBeRunStops(t *testing.T) {
	t.Parallel()
	b := newBranch(t, []string{"one", "two"}, func(tree, _ string) bool { return tree == "two" })
	attempt := func() *run.Dispatch {
		a, ok := phase.Finish(b.State, "two")[0].(run.Assign)
		require.True(t, ok)
		b.Append("", a.Data)
		return a.Dispatch
	}
	for range 2 {
		d := attempt()
		b.Ended(d.Task, d.Attempt, b.result(d.Head, d.Gates))
	}
	for range 3 {
		d := attempt()
		require.Equal(t, "h1", d.Head)
		b.Ended(d.Task, d.Attempt, runtest.Failed(wire.FaultInternal, "disk"))
	}
	require.Equal(t, []string{"fail: the final gates could not be run: disk"}, runtest.Describe(phase.Finish(b.State, "two")))
	b.kill()
	require.Equal(t, run.Parked, b.finish(never).State, "a resumed run tries again")
	require.Equal(t, 2, b.Batches.FirstRed().Batch)
}

// Whatever the branch is like and however often the process is killed, the search ends within the bound of halving, tests no tree
// twice, and finds a batch that is red after one that is green: the first one, where the branch turned red once.
func TestTheSearchFindsWhereTheBranchTurnedRed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		dice := rand.New(rand.NewPCG(seed, 7))
		n := 1 + dice.IntN(70)
		trees, bad := make([]string, n), map[string]bool{}
		first, once := dice.IntN(n), dice.IntN(3) > 0
		for i := range trees {
			trees[i] = fmt.Sprint("tree", i)
			bad[trees[i]] = i >= first && (once || i == n-1 || dice.IntN(2) == 0)
		}
		for i := 1; i < n-1; i++ { // some batches change nothing
			if dice.IntN(5) == 0 && bad[trees[i]] == bad[trees[i-1]] {
				trees[i] = trees[i-1]
			}
		}
		b := newBranch(t, trees, func(tree, gate string) bool { return gate == "test" && bad[tree] })
		b.finish(func() bool { return dice.IntN(4) == 0 })
		found := b.Batches.FirstRed().Batch - 1
		require.True(t, bad[trees[found]], "seed %d: batch %d of %v", seed, found, trees)
		require.True(t, found == 0 || !bad[trees[found-1]], "seed %d: the batch before %d is red too", seed, found)
		if once {
			require.Equal(t, first, found, "seed %d", seed)
		}
		steps := 0
		for what, runs := range b.runs {
			if last := trees[n-1]; what == last+" build" || what == last+" test" {
				continue
			}
			require.Equal(t, 1, runs, "seed %d: %s", seed, what)
			steps++
		}
		most := 0
		for 1<<most < n {
			most++
		}
		require.LessOrEqual(t, steps, most, "seed %d: of %d batches", seed, n)
		require.Equal(t, 2, b.runs[trees[n-1]+" test"], "seed %d", seed)
	}
}
