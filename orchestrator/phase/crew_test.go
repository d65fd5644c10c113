package phase_test

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// crewed is a run whose gates workers elsewhere run, each with its key. The head of batch n is h<n>, its tree t<n>.
type crewed struct {
	*runtest.Log
	keys map[string]ed25519.PrivateKey
	runs map[string]int // of gates in full, by head
}

func newCrewed(t testing.TB, reprove float64, workers ...string) *crewed {
	t.Helper()
	c := &crewed{keys: map[string]ed25519.PrivateKey{}, runs: map[string]int{}}
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4, Reprove: reprove, Keys: map[string][]byte{}}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	for _, w := range append([]string{"z"}, workers...) {
		public, key, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		c.keys[w], s.Keys[w] = key, public
	}
	c.Log = runtest.New(t, s, run.Running)
	c.crew(workers...)
	c.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Worker: "z", Environment: "e1", Verdict: spec.VerdictPass}}})
	c.Plan()
	return c
}

// crew are the workers that are there, each with a place for gates.
func (c *crewed) crew(workers ...string) {
	crew := run.Crew{}
	for _, w := range workers {
		crew[w] = wire.Places{Agents: 1, Gates: 1}
	}
	c.Append("", run.Data{Crew: crew})
}

// gates folds that a worker has run gates on a tree: one delivery of an attempt, from its start to its result.
func (c *crewed) gates(worker, work string, attempt int, r spec.Receipt) spec.Result {
	c.Helper()
	c.By(worker, work, attempt, contextscope.KindStarted, wire.Started{Delivery: 1})
	return c.handIn(worker, work, attempt, r)
}

func (c *crewed) handIn(worker, work string, attempt int, r spec.Receipt) spec.Result {
	c.Helper()
	r.Gate, r.Environment, r.Agent = "test", "e1", wire.AgentID(work, attempt)
	require.NoError(c, wire.Sign(c.Spec.Run, worker, c.keys[worker], &r))
	c.By(worker, work, attempt, contextscope.KindReceipt, r)
	result := spec.Result{Task: work, Attempt: attempt, Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
	if r.Verdict == spec.VerdictFail {
		result.Status, result.Error = spec.StatusFailed, &spec.Fault{Class: wire.FaultGate, Message: "test is red"}
	}
	c.By(worker, work, attempt, contextscope.KindResult, result)
	return *c.Works[work].At(attempt).Result
}

// land has a batch of one task proven by a worker, narrowed to its change, and lands it.
func (c *crewed) land(n int, worker string) {
	c.Helper()
	id, old := fmt.Sprintf("task%d", n), "b"
	if n > 1 {
		old = fmt.Sprintf("h%d", n-1)
	}
	c.Plan(spec.Task{ID: id, Role: "generator"})
	d := run.LandingData{
		Batch: n, State: run.LandingTesting, Old: old, Head: fmt.Sprintf("h%d", n), Tree: fmt.Sprintf("t%d", n),
		Tasks: []run.Landed{{Task: id, Attempt: 1, Commit: fmt.Sprintf("h%d", n)}},
	}
	d.Dispatch = &run.Dispatch{
		Task: fmt.Sprintf("%s-%d", run.BatchTask, n), Attempt: 1, Role: spec.RoleTester, Head: d.Head, Gates: []string{"test"}, Since: old,
	}
	c.Append("", d)
	r := c.gates(worker, d.Dispatch.Task, 1, spec.Receipt{Tree: d.Tree, Since: old, Verdict: spec.VerdictPass})
	require.Equal(c, spec.StatusDone, r.Status, r.Error)
	d.State, d.Dispatch, d.Receipts = run.LandingLanded, nil, r.Receipts
	c.Append("", d)
}

// end runs what the rules propose on a worker of the crew that may, up to the end of the run; red reports whether the gates in
// full fail on the tree of a batch.
func (c *crewed) end(red func(n int) bool) run.Data {
	c.Helper()
	for range 1000 {
		actions := phase.Reprove(c.State)
		if len(actions) == 0 {
			if !phase.Over(c.State) {
				return run.Data{}
			}
			actions = phase.Finish(c.State, fmt.Sprintf("t%d", len(c.Batches.Landed)))
		}
		for _, action := range actions {
			switch a := action.(type) {
			case run.End:
				return a.Data
			case run.Append:
				c.Append("", a.Data)
			case run.Assign:
				c.Append("", a.Data)
				d, n := a.Dispatch, 0
				_, err := fmt.Sscanf(d.Head, "h%d", &n)
				require.NoError(c, err)
				r := spec.Receipt{Tree: fmt.Sprintf("t%d", n), Since: d.Since, Verdict: spec.VerdictPass}
				if red(n) {
					r.Verdict = spec.VerdictFail
				}
				if d.Since == "" {
					c.runs[d.Head]++
				}
				free := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Crew)), func(w string) bool { return slices.Contains(d.Not, w) })
				worker := append(free, d.Not...)[0]
				c.gates(worker, d.Task, d.Attempt, r)
			}
		}
	}
	require.Fail(c, "it does not end")
	return run.Data{}
}

// passes is a branch that is right.
func passes(int) bool { return false }

// Final gates of the worker that proved the last batch count only where no other one may run them, as the log tells when its
// delivery begins.
func TestFinalGatesAreOfAnotherWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(c *crewed)
		during func(c *crewed)
		worker string
		why    string
	}{
		"another worker": {worker: "b"},
		"the same one":   {worker: "a", why: "worker a leaves it to another worker: it has proven the same before"},
		"it is alone":    {worker: "a", before: func(c *crewed) { c.crew("a") }},
		"the other one runs no gates": {worker: "a", before: func(c *crewed) {
			c.Append("", run.Data{Crew: run.Crew{"a": {Gates: 1}, "b": {Agents: 1}}})
		}},
		"the other one came later": {
			worker: "a", before: func(c *crewed) { c.crew("a") }, during: func(c *crewed) { c.crew("a", "b") },
		},
		"the other one left later": {
			worker: "a", during: func(c *crewed) { c.crew("a") }, why: "worker a leaves it to another worker",
		},
		"the other one works in another environment": {worker: "a", before: func(c *crewed) {
			c.Append("", run.Data{At: map[string]string{"b": "e2"}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 0, "a", "b")
			l.land(1, "a")
			l.Append("", run.Data{State: run.Final})
			if c.before != nil {
				c.before(l)
			}
			actions := phase.Finish(l.State, "t1")
			assign, ok := actions[0].(run.Assign)
			require.True(t, ok)
			require.Equal(t, []string{"a"}, assign.Dispatch.Not)
			l.Do(actions)
			l.By(c.worker, run.FinalTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
			if c.during != nil {
				c.during(l)
			}
			r := l.handIn(c.worker, run.FinalTask, 1, spec.Receipt{Tree: "t1", Verdict: spec.VerdictPass})
			require.Equal(t, c.why == "", l.Proofs.IsProven("t1", []string{"test"}, ""))
			if c.why == "" {
				require.Equal(t, spec.StatusDone, r.Status)
				return
			}
			require.Contains(t, r.Error.Message, c.why)
			require.Equal(t, []string{"assign --final/2 to tester on h1"}, runtest.Describe(phase.Finish(l.State, "t1")))
		})
	}
}

// In one process there is no other worker: nothing is asked for.
func TestFinalGatesOfOneProcess(t *testing.T) {
	t.Parallel()
	b := newBranch(t, []string{"one"}, func(string, string) bool { return false })
	assign, ok := phase.Finish(b.State, "one")[0].(run.Assign)
	require.True(t, ok)
	require.Empty(t, assign.Dispatch.Not)
}

// A worker lies once in forty receipts: it signs a pass for a batch whose gates fail. What it alone has proven since the time is
// proven again by the gates in full on another worker, the lie is found, and the report tells.
func TestALieInFortyReceiptsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie   int // the batch
		state run.Status
		runs  int // of gates in full
	}{
		"a lie":               {lie: 17, state: run.Parked, runs: 8},
		"the worker is right": {state: run.Done, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 0, "a", "b", "c")
			var alone []string
			from := uint64(0)
			for n := 1; n <= 40; n++ {
				worker := "b"
				if n%2 == 1 {
					worker = "a"
				}
				if n == 11 {
					from = l.Pos
				}
				l.land(n, worker)
				if worker == "a" && n >= 11 && n != 13 {
					alone = append(alone, fmt.Sprintf("task%d", n))
				}
			}
			// Another worker has proven the tree of batch 13 too.
			l.Gates(run.FinalTask, 1, "h13")
			l.gates("c", run.FinalTask, 1, spec.Receipt{Tree: "t13", Since: "h12", Verdict: spec.VerdictPass})
			l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "a", From: from, By: "user:ann"}})
			require.True(t, l.Suspect())
			require.NotContains(t, l.Crew, "a")

			end := l.end(func(n int) bool { return c.lie > 0 && n >= c.lie })
			require.Equal(t, c.state, end.State, end.Reason)
			total := 0
			for _, n := range l.runs {
				total += n
			}
			require.Equal(t, c.runs, total, "%v", l.runs)
			l.Append("", end)
			r := report.Of(l.State)
			require.Len(t, r.Quarantines, 1)
			require.Equal(t, alone, r.Quarantines[0].Alone)
			require.Equal(t, c.lie == 0, r.Quarantines[0].Proven)
			if c.lie > 0 {
				require.Equal(t, fmt.Sprintf("the final gates are redder than the baseline, first after batch %d: task%[1]d", c.lie), end.Reason)
				require.Contains(t, r.Quarantines[0].String(), "14 changes (task11, task15, task17,")
				require.Contains(t, r.Quarantines[0].String(), "not proven again")
			} else {
				require.Contains(t, r.Quarantines[0].String(), "which others have proven since")
			}
		})
	}
}

// What counts of a worker in quarantine, and what does not.
func TestAQuarantine(t *testing.T) {
	t.Parallel()
	quarantine := func(l *crewed, from uint64) {
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "a", From: from, By: "user:ann"}})
	}
	t.Run("a result that is to be settled does not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Append("", run.LandingData{
			Batch: 1, State: run.LandingTesting, Old: "b", Head: "h1", Tree: "t1",
			Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: spec.RoleTester, Gates: []string{"test"}, Since: "b"},
		})
		r := l.gates("a", "--batch-1", 1, spec.Receipt{Tree: "t1", Since: "b", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusDone, r.Status)
		quarantine(l, 0)
		require.Equal(t, spec.StatusFailed, l.Works.Settled("--batch-1").Status)
		require.False(t, l.Proofs.IsProven("t1", []string{"test"}, "b"))
	})
	t.Run("what it hands in later does not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Plan(spec.Task{ID: "x", Role: "generator"})
		l.Dispatched("x", "generator", 1, "b")
		quarantine(l, 0)
		l.Ended("x", 1, runtest.Patched("c", "tree", "b"))
		require.Equal(t, spec.StatusFailed, l.Works.Settled("x").Status)
		require.Equal(t, "worker a is in quarantine", l.Works.Settled("x").Error.Message)
	})
	t.Run("what it left in an attempt proves nothing for the next worker", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Gates(run.AgainTask, 1, "b")
		left := l.gates("a", run.AgainTask, 1, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass}).Receipts
		l.Gates(run.FlakesTask, 1, "b")
		l.By("a", run.FlakesTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
		left[0].Agent = run.FlakesTask + "/1"
		require.NoError(t, wire.Sign("r1", "a", l.keys["a"], &left[0]))
		l.By("a", run.FlakesTask, 1, contextscope.KindReceipt, left[0])
		quarantine(l, 0)
		l.By("b", run.FlakesTask, 1, contextscope.KindStarted, wire.Started{Delivery: 2})
		l.By("b", run.FlakesTask, 1, contextscope.KindResult, spec.Result{Status: spec.StatusDone, Receipts: left})
		require.Equal(t, "the receipt of gate test does not count: worker a is in quarantine",
			l.Works.Settled(run.FlakesTask).Error.Message)
	})
	t.Run("its second proof is given again", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b", "c")
		l.land(1, "b")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "a", l.Batches.Landed[0].Second.Worker)
		quarantine(l, 0)
		require.True(t, l.Batches.Reproving())
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "c", l.Batches.Landed[0].Second.Worker)
		require.Empty(t, l.Quarantines["a"].Alone)
	})
	t.Run("what it has proven before counts", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "a")
		quarantine(l, l.Pos)
		require.False(t, l.Suspect())
		require.True(t, l.Proofs.IsProven("t1", []string{"test"}, "b"))
	})
	t.Run("an earlier time widens it, and a later one changes nothing", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "a")
		mid := l.Pos
		l.land(2, "a")
		quarantine(l, mid)
		require.Equal(t, []string{"task2"}, l.Quarantines["a"].Alone)
		quarantine(l, 0)
		require.Equal(t, []string{"task1", "task2"}, l.Quarantines["a"].Alone)
		quarantine(l, mid)
		require.Equal(t, []string{"task1", "task2"}, l.Quarantines["a"].Alone)
	})
	t.Run("its final gates do not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "b")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "a", l.Final[0].Worker)
		quarantine(l, 0)
		require.Empty(t, l.Final)
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "b", l.Final[0].Worker, "no other one is there")
	})
	t.Run("with its baseline nothing counts that was compared with it", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b", "z")
		l.Gates(run.BaselineTask, 1, "b")
		l.gates("z", run.BaselineTask, 1, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass})
		l.land(1, "b")
		l.Gates("--batch-2", 1, "h2")
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "z", By: "user:ann"}})
		require.False(t, l.Baselined())
		require.Equal(t, []string{"task1"}, l.Quarantines["z"].Alone)
		r := l.gates("b", "--batch-2", 1, spec.Receipt{Tree: "t2", Since: "h1", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusFailed, r.Status)
		require.Equal(t, []string{"assign --baseline/2 to tester on b"}, runtest.Describe(phase.Baseline(l.State)))
		l.Do(phase.Baseline(l.State))
		require.Empty(t, phase.Baseline(l.State), "it is outstanding")
		l.gates("b", run.BaselineTask, 2, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass})
		l.Do(phase.Baseline(l.State))
		require.True(t, l.Baselined())
		require.Contains(t, strings.Join(l.Notices, "\n"), "what a worker in quarantine found there does not count")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, map[string]int{"h1": 1}, l.runs)
	})
}

// Second proofs are chosen when a batch lands, by what its worker could not know; no other worker may give them, and the run ends
// as proven only after them.
func TestSecondProofs(t *testing.T) {
	t.Parallel()
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		for n := 1; n <= 4; n++ {
			l.land(n, "a")
		}
		require.False(t, phase.Over(l.State))
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, 4, l.Batches.Reruns)
		for _, s := range l.Batches.Seconds() {
			require.Equal(t, run.SecondPassed, s.Second.State)
			require.Equal(t, "b", s.Second.Worker)
		}
		require.Equal(t, "4 of 4 batches that landed chosen (100%), 4 passed again; 4 gate runs added", report.Of(l.State).Reproof.String())
	})
	t.Run("the first worker gives none", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		l.Do(phase.Reprove(l.State))
		l.crew("a")
		r := l.gates("a", "--reprove-1", 1, spec.Receipt{Tree: "t1", Since: "b", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusFailed, r.Status, "not even where it is alone")
		require.True(t, l.Batches.Reproving())
	})
	t.Run("no other worker is there", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a")
		l.land(1, "a")
		l.Plan(spec.Task{ID: "x", Role: "generator"})
		require.Empty(t, phase.Reprove(l.State), "one may come")
		l.Append("x", run.TaskData{State: run.TaskDone})
		require.Equal(t, []string{"run batch 1 was not proven a second time: no other worker than a is there"},
			runtest.Describe(phase.Reprove(l.State)))
		require.Equal(t, run.Done, l.end(passes).State)
	})
	t.Run("the other worker leaves", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		l.Do(phase.Reprove(l.State))
		require.Empty(t, phase.Reprove(l.State))
		l.crew("a")
		require.Equal(t, []string{
			"run batch 1 was not proven a second time: no other worker than a is there", "take back --reprove-1", "tell --reprove-1",
		}, runtest.Describe(phase.Reprove(l.State)))
		l.Do(phase.Reprove(l.State))
		require.True(t, phase.Over(l.State))
	})
	t.Run("gates that cannot be run", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		for n := 1; n <= 3; n++ {
			l.Do(phase.Reprove(l.State))
			l.By("b", "--reprove-1", n, contextscope.KindStarted, wire.Started{Delivery: 1})
			l.By("b", "--reprove-1", n, contextscope.KindResult, runtest.Failed(wire.FaultSetup, "no disk"))
		}
		require.Equal(t, []string{"run batch 1 was not proven a second time: its gates could not be run: no disk"},
			runtest.Describe(phase.Reprove(l.State)))
	})
	t.Run("a batch under test goes first", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		for n := 2; n <= 3; n++ {
			l.Append("", run.LandingData{
				Batch: n, State: run.LandingTesting, Old: "h1", Head: "h", Tree: fmt.Sprint("t", n),
				Dispatch: &run.Dispatch{Task: fmt.Sprint("--batch-", n), Attempt: 1, Role: spec.RoleTester, Gates: []string{"test"}, Since: "h1"},
			})
		}
		require.Empty(t, phase.Reprove(l.State))
	})
}

// The share is of all batches, whatever their number, and it is the same in each replay.
func TestTheShareOfSecondProofs(t *testing.T) {
	t.Parallel()
	const batches = 400
	for _, percent := range []float64{0, 5, 50} {
		l, again := newCrewed(t, percent, "a", "b"), newCrewed(t, percent, "a", "b")
		for n := 1; n <= batches; n++ {
			l.land(n, "a")
			again.land(n, "a")
		}
		chosen := func(l *crewed) (list []int) {
			for _, s := range l.Batches.Seconds() {
				list = append(list, s.Batch)
			}
			return list
		}
		require.Equal(t, chosen(l), chosen(again))
		require.InDelta(t, percent/100*batches, len(chosen(l)), batches/20, "%g%%", percent)
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, len(chosen(l)), l.Batches.Reruns)
		t.Logf("--reprove %g%%: %d gate runs added to %d", percent, l.Batches.Reruns, l.Batches.GateRuns)
	}
	alone := newCrewed(t, 100, "a")
	alone.Crew = nil
	alone.land(1, "a")
	require.Empty(t, alone.Batches.Seconds(), "in one process there is no other worker")
}

// Where the second worker is red a person decides whom to trust.
func TestASecondProofThatDiffers(t *testing.T) {
	t.Parallel()
	for option, c := range map[string]struct {
		state run.Status
		alone []string
		who   string
	}{
		run.Trust:       {state: run.Done, who: "b"},
		run.Quarantined: {state: run.Parked, alone: []string{"task1", "task2"}, who: "b"},
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 100, "a", "b")
			l.land(1, "a")
			l.land(2, "a")
			lie := func(n int) bool {
				return n == 2 && (option == run.Quarantined || l.Batches.Landed[1].Second.State == run.SecondOpen)
			}
			require.Empty(t, l.end(lie).State, "it waits for the decision")
			open := decision.Open(l.State)
			require.Len(t, open, 1)
			require.Equal(t, run.DecideReproof, open[0].Kind)
			require.Equal(t, "a decision about batch 2: its gates passed on worker a, and failed on worker b", open[0].Text)
			require.Equal(t, []string{"on worker b: test is red", "in it have landed: task2"}, open[0].Evidence)
			actions, _, err := decision.Take(l.State, run.Answer{ID: open[0].ID, Option: option, By: "user:ann"})
			require.NoError(t, err)
			l.Do(actions)
			for _, action := range decision.Carry(l.State) {
				if isolate, ok := action.(run.Isolate); ok {
					action = run.SetRun(run.Data{Quarantine: &isolate.Quarantine})
				}
				l.Do([]run.Action{action})
			}
			require.Empty(t, decision.All(l.State))
			end := l.end(lie)
			require.Equal(t, c.state, end.State, end.Reason)
			if q := l.Quarantines["a"]; q != nil {
				require.Equal(t, []string{"task2"}, q.Alone, "another worker has proven batch 1 again")
				require.Equal(t, "user:ann", q.By)
			} else {
				require.Empty(t, c.alone)
			}
		})
	}
}
