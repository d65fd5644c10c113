package landing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newShards is a world of the shards of a template whose files are all in one directory, and of a tool that gives files with lines.
func newShards(t *testing.T, shards, permits int) *world {
	t.Helper()
	w := newWorld(t, shards, permits, spec.ProveBatch, func(s *spec.Task) {
		s.ShardOf, s.Files = "all", []string{"src/" + s.ID + ".txt"}
	})
	w.positions = true
	return w
}

// together submits shards and tests until none waits; it returns how often the gate ran.
func (w *world) together(shards ...string) int {
	w.Helper()
	for _, id := range shards {
		w.submit(id)
	}
	before := w.total()
	w.settle()
	for len(w.Batches.Testing) > 0 {
		w.test(0)
		w.settle()
	}
	return w.total() - before
}

// Where all shards are wrong, their first batch names each of them alone.
func TestAWrongBriefCostsFewGateRuns(t *testing.T) {
	t.Parallel()
	for n, runs := range map[int]int{2: 3, 3: 3, 12: 3, 40: 3, 64: 3, 200: 6} { // a batch has at most 64
		w := newShards(t, n, 1)
		for _, id := range w.Tasks.Order {
			w.culprits[id] = true
		}
		require.Equal(t, runs, w.together(w.Tasks.Order...), "%d shards: with all, with the first one, with the others", n)
		require.Equal(t, n, w.Tasks.Counts()[run.TaskParked])
	}
	w := newShards(t, 4, 1)
	for i, id := range w.Tasks.Order {
		w.culprits[id] = true
		require.Equal(t, []int{2, 1, 1, 1}[i], w.together(id), "one at a time, the first one twice")
	}
}

// Where nothing leads to one of the first shards alone, they are tested one by one, and once.
func TestTheFirstShardsAreTestedOneByOneWhereNothingNamesOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wrong []int
		runs  int
	}{
		{[]int{0, 1, 2}, 4},
		{[]int{0}, 4}, // that alone, then the others
		{[]int{1}, 5}, // when one has landed it runs twice
		{[]int{2}, 4}, // whose tree has failed once
	} {
		w := newShards(t, 3, 1)
		w.positions = false
		for _, i := range c.wrong {
			w.culprits[w.Tasks.Order[i]] = true
		}
		require.Equal(t, c.runs, w.together(w.Tasks.Order...), "%v", c.wrong)
		require.Equal(t, len(c.wrong), w.Tasks.Counts()[run.TaskParked])
		require.Equal(t, 3-len(c.wrong), w.Tasks.Counts()[run.TaskLanded])
	}
}

// Nothing names a shard: with all, and three of them alone; then the template is held.
func TestAWrongBriefThatNothingNamesCostsFewGateRuns(t *testing.T) {
	t.Parallel()
	for _, submitted := range [][]int{{40}, {1, 39}, {2, 38}, {1, 1, 38}, {4, 36}} {
		w := newShards(t, 40, 1)
		w.positions, w.alike, w.rules = false, true, []func(*run.State) []run.Action{request.Hold}
		rest, runs := w.Tasks.Order, 0
		for _, id := range w.Tasks.Order {
			w.culprits[id] = true
		}
		for _, n := range submitted {
			runs += w.together(rest[:n]...)
			rest = rest[n:]
		}
		require.NotEmpty(t, w.Templates.Holds(), "%v", submitted)
		require.LessOrEqual(t, runs, 4, "%v", submitted)
		require.Equal(t, 37, w.Tasks.Counts()[run.TaskAccepted])
	}
}

// Most shards are wrong, and the right ones land: with them all, the right ones, the first wrong one, the others.
func TestManyShardsThatFailAlikeDoNotKeepBackTheRight(t *testing.T) {
	t.Parallel()
	w := newShards(t, 40, 1)
	for _, id := range w.Tasks.Order[5:] {
		w.culprits[id] = true
	}
	require.Equal(t, 4, w.together(w.Tasks.Order...))
	require.Equal(t, 5, w.Tasks.Counts()[run.TaskLanded])
	require.Equal(t, 35, w.Tasks.Counts()[run.TaskParked])
}

// One shard is wrong, and those beside it fail with it as it does, each in its own file. None of them goes back.
func TestAShardThatBreaksOthersIsNoVerdictOnThem(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 9} {
		for wrong := range n {
			w := newShards(t, n, 1)
			w.breaks = w.Tasks.Order[wrong]
			w.culprits[w.breaks] = true
			runs := w.together(w.Tasks.Order...)
			require.Equal(t, n-1, w.Tasks.Counts()[run.TaskLanded], "%s of %d", w.breaks, n)
			require.LessOrEqual(t, runs, 2*n, "%s of %d", w.breaks, n)
		}
	}
}

// What fails as another shard did is no verdict where that one is beside it, or where a shard has landed.
func TestAFailureLikeAnotherOneIsTestedAgain(t *testing.T) {
	t.Parallel()
	w := newShards(t, 4, 1)
	require.Equal(t, 1, w.together(w.Tasks.Order[0]))
	require.Equal(t, run.TaskLanded, w.Tasks.ByID[w.Tasks.Order[0]].State)
	for _, id := range w.Tasks.Order[1:3] {
		w.culprits[id] = true
		require.Equal(t, 2, w.together(id), "a shard has landed: the brief may be right")
	}
}

// The accepted patches of a held template are not tested; others are.
func TestTheAcceptedPatchesOfAHeldTemplateWait(t *testing.T) {
	t.Parallel()
	const other = "t005"
	w := newWorld(t, 6, 1, spec.ProveBatch, func(s *spec.Task) {
		if s.ID != other {
			s.ShardOf = "all"
		}
	})
	w.Append(w.Tasks.Order[0], run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: wire.FaultGate, Message: "red"}})
	w.Append("", run.Data{Decision: &run.Decided{Hold: &run.Hold{Template: "all", Shards: 3}}})
	for _, id := range w.Tasks.Order[1:] {
		w.submit(id)
	}
	w.settle()
	require.Len(t, w.Batches.Testing, 1)
	require.Equal(t, other, w.Batches.Testing[0].Tasks[0].Task)
	require.Len(t, w.Batches.Testing[0].Tasks, 1)
	w.test(0)
	w.settle()
	require.Empty(t, w.Batches.Testing)
	require.Equal(t, 4, w.Tasks.Counts()[run.TaskAccepted])
	w.Append("", run.Data{Decision: &run.Decided{
		Kind: run.DecideTemplate, About: "all", Closed: true, Answer: run.Answer{Option: run.Accept, By: wire.Person("ada")},
	}})
	require.Equal(t, 1, w.together())
	require.Equal(t, 5, w.Tasks.Counts()[run.TaskLanded])
}

// Whatever is wrong with the shards of a template, exactly the right ones land.
func TestTheShardsThatAreRightLand(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 19))
		n := 1 + dice.IntN(30)
		w := newShards(t, n, 1+dice.IntN(3))
		for _, id := range w.Tasks.Order {
			w.culprits[id] = dice.IntN(4) < int(seed%5)
		}
		order := slices.Clone(w.Tasks.Order)
		dice.Shuffle(n, func(a, b int) { order[a], order[b] = order[b], order[a] })
		for len(order) > 0 {
			some := min(len(order), 1+dice.IntN(n))
			for _, id := range order[:some] {
				w.submit(id)
			}
			order = order[some:]
			w.settle()
			if len(w.Batches.Testing) > 0 {
				w.test(dice.IntN(8))
				w.settle()
			}
		}
		w.prove(dice)
		for _, id := range w.Tasks.Order {
			require.Equal(t, !w.culprits[id], w.Tasks.ByID[id].State == run.TaskLanded, "seed %d: %s", seed, id)
		}
	}
}

// A part of shards is tested behind the first of them.
func TestTheFirstOfTheShardsOfATemplateIsTestedAlone(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "b", "c", "d", "e")
	for _, id := range []string{"a", "c", "d"} {
		l.Tasks.ByID[id].Task.ShardOf = "all"
	}
	red := spec.Receipt{Positions: map[string][]string{}}
	for _, id := range []string{"a", "b", "c", "d"} {
		signature := fmt.Sprintf("of-%s/x.go: wrong", id)
		red.Signatures, red.Positions[signature] = append(red.Signatures, signature), []string{"of-" + id + "/x.go"}
	}
	batch(l, 1, 1, "b", "l", "a", "b", "c", "d", "e")
	l.Ended("--batch-1", 1, broken(red))
	require.Equal(t, []string{"landing split a b c d e parts e a c+d b"}, runtest.Describe(landing.Settle(l.State)))
}
