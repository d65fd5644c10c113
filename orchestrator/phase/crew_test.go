package phase_test

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
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
	r.Gate, r.Environment, r.Agent = cmp.Or(r.Gate, "test"), cmp.Or(r.Environment, "e1"), wire.AgentID(work, attempt)
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
func (c *crewed) land(n int, worker string) { c.landed(n, worker, true) }

// landed is land, with gates that are narrowed or in full.
func (c *crewed) landed(n int, worker string, narrowed bool) {
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
	since := ""
	if narrowed {
		since = old
	}
	r := c.gates(worker, d.Dispatch.Task, 1, spec.Receipt{Tree: d.Tree, Since: since, Verdict: spec.VerdictPass})
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
				there := slices.Sorted(maps.Keys(c.Crew))
				free := slices.DeleteFunc(slices.Clone(there), func(w string) bool { return slices.Contains(d.Not, w) })
				c.gates(append(free, there...)[0], d.Task, d.Attempt, r)
			}
		}
	}
	require.Fail(c, "it does not end")
	return run.Data{}
}

// passes is a branch that is right.
func passes(int) bool { return false }

// Final gates of the worker that proved the last batch count only where no other one may run them, as the log reports when its
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
