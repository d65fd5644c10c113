package run_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestAReceiptThatProvesNothingIsNotFolded(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	signed := func(of string, change func(*spec.Receipt)) spec.Receipt {
		r := spec.Receipt{Gate: "test", Tree: "tree", Environment: "e1", Verdict: spec.VerdictPass}
		if change != nil {
			change(&r)
		}
		require.NoError(t, wire.Sign(of, "a", key, &r))
		return r
	}
	altered := signed("r1", func(r *spec.Receipt) { r.Verdict = spec.VerdictFail })
	altered.Verdict = spec.VerdictPass
	unknown := signed("r1", nil)
	unknown.Worker = "b"
	for name, c := range map[string]struct {
		receipt spec.Receipt
		why     string
	}{
		"right":               {signed("r1", nil), ""},
		"unsigned":            {spec.Receipt{Gate: "test", Tree: "tree", Environment: "e1", Verdict: spec.VerdictPass}, "no worker has signed it"},
		"altered":             {altered, "it differs from the receipt that worker a signed in this run"},
		"another run":         {signed("r2", nil), "it differs from the receipt that worker a signed in this run"},
		"unknown worker":      {unknown, `the run knows no key of worker "b"`},
		"its attempt":         {signed("r1", func(r *spec.Receipt) { r.Agent = "--batch-1/1" }), ""},
		"another attempt":     {signed("r1", func(r *spec.Receipt) { r.Agent = "--batch-1/2" }), "it is of --batch-1/2, and was submitted for --batch-1/1"},
		"another assignment":  {signed("r1", func(r *spec.Receipt) { r.Agent = "t/1" }), "it is of t/1, and was submitted for --batch-1/1"},
		"another tree":        {signed("r1", func(r *spec.Receipt) { r.Tree = "other" }), "it is of the tree other, and the batch has tree"},
		"another environment": {signed("r1", func(r *spec.Receipt) { r.Environment = "e2" }), "it is of the environment e2, and the baseline of e1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public}}
			s.Project.Gates = []spec.Gate{{Name: "test"}}
			l := runtest.New(t, s, run.Running)
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Environment: "e1", Verdict: spec.VerdictPass}}})
			l.Append("", run.LandingData{
				Batch: 1, State: run.LandingTesting, Old: "b", Head: "h", Tree: "tree",
				Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: spec.RoleTester, Gates: []string{"test"}},
			})
			l.Ended("--batch-1", 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{c.receipt}})
			r := l.Works.Settled("--batch-1")
			proven := l.Proofs.IsProven("tree", []string{"test"}, "b")
			if c.why == "" {
				require.Equal(t, spec.StatusDone, r.Status)
				require.True(t, proven)
				require.Empty(t, l.Notices)
				return
			}
			require.Equal(t, spec.StatusFailed, r.Status)
			require.Empty(t, r.Receipts)
			require.False(t, proven)
			require.Equal(t, []string{"event at 4: the receipt of gate test does not count: " + c.why + " (result of --batch-1/1)"}, l.Notices)
		})
	}
}

// A worker that continues with an attempt of another one hands in what that one has left there, and nothing else that it signed.
func TestAReceiptOfAnotherWorkerIsOfItsAttempt(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	r := spec.Receipt{Gate: "test", Tree: "tree", Verdict: spec.VerdictPass}
	require.NoError(t, wire.Sign("r1", "a", key, &r))
	for name, left := range map[string]string{"left there": "a", "taken from elsewhere": "", "left by who did not sign it": "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public}}
			l := runtest.New(t, s, run.Running)
			l.Gates(run.BaselineTask, 1, "b")
			started := func(worker string, delivery int) {
				l.By(worker, run.BaselineTask, 1, contextscope.KindStarted, wire.Started{Delivery: delivery})
			}
			started("a", 1)
			if left == "a" {
				l.By(left, run.BaselineTask, 1, contextscope.KindReceipt, r)
			}
			started("b", 2)
			if left == "b" {
				l.By(left, run.BaselineTask, 1, contextscope.KindReceipt, r)
			}
			l.By("b", run.BaselineTask, 1, contextscope.KindResult, spec.Result{
				Task: run.BaselineTask, Attempt: 1, Status: spec.StatusDone, Receipts: []spec.Receipt{r},
			})
			result := l.Works.Settled(run.BaselineTask)
			if left == "a" {
				require.Equal(t, spec.StatusDone, result.Status)
				return
			}
			require.Equal(t, spec.StatusFailed, result.Status)
			require.Equal(t, "the receipt of gate test does not count: worker b submitted a receipt of worker a, which did not make it "+
				"in this attempt", result.Error.Message)
		})
	}
}

// A worker that an attempt is kept from proves nothing in it while another one is there.
func TestAReceiptOfAWorkerThatLeavesTheAttemptToOthersCountsForNothing(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	for worker, want := range map[string]spec.Status{"a": spec.StatusFailed, "b": spec.StatusDone} {
		s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public, "b": public}}
		l := runtest.New(t, s, run.Running)
		l.Append("", run.Data{Crew: run.Crew{"a": {Gates: 1}, "b": {Gates: 1}}})
		l.Append("", run.Data{Dispatch: &run.Dispatch{
			Task: run.BaselineTask, Attempt: 1, Role: spec.RoleTester, Head: "b", Not: []string{"a"},
		}})
		l.By(worker, run.BaselineTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
		r := spec.Receipt{Gate: "test", Tree: "tree", Verdict: spec.VerdictPass}
		require.NoError(t, wire.Sign("r1", worker, key, &r))
		l.By(worker, run.BaselineTask, 1, contextscope.KindResult, spec.Result{
			Task: run.BaselineTask, Attempt: 1, Status: spec.StatusDone, Receipts: []spec.Receipt{r},
		})
		require.Equal(t, want, l.Works.Settled(run.BaselineTask).Status, worker)
	}
}

// What proves a landed batch a second time is of its tree, and of the environment that the baseline is of.
func TestASecondProofIsOfItsBatch(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	pass := spec.Receipt{Gate: "test", Tree: "tree", Environment: "e1", Verdict: spec.VerdictPass}
	first, elsewhere, later := pass, pass, pass
	elsewhere.Tree, later.Environment = "other", "e2"
	require.NoError(t, wire.Sign("r1", "a", key, &first))
	for want, r := range map[string]spec.Receipt{
		"": pass, "it is of the tree other, and the batch has tree": elsewhere,
		"it is of the environment e2, and the baseline of e1": later,
	} {
		s := run.Spec{
			Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public, "b": public}, Reprove: 100,
		}
		s.Project.Gates = []spec.Gate{{Name: "test"}}
		l := runtest.New(t, s, run.Running)
		l.Append("", run.Data{Crew: run.Crew{"a": {Gates: 1}, "b": {Gates: 1}}})
		l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Environment: "e1", Verdict: spec.VerdictPass}}})
		l.Append("", run.LandingData{
			Batch: 1, State: run.LandingLanded, Old: "b", Head: "h", Tree: "tree", Receipts: []spec.Receipt{first},
		})
		work := l.Batches.Landed[0].ReproveID()
		l.Gates(work, 1, "h")
		l.By("b", work, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
		require.NoError(t, wire.Sign("r1", "b", key, &r))
		l.By("b", work, 1, contextscope.KindResult, spec.Result{
			Task: work, Attempt: 1, Status: spec.StatusDone, Receipts: []spec.Receipt{r},
		})
		if result := l.Works.Settled(work); want != "" {
			require.Equal(t, "the receipt of gate test does not count: "+want, result.Error.Message)
		} else {
			require.Equal(t, spec.StatusDone, result.Status)
		}
	}
}

// Final gates that are green on a tree that landed before tell nothing about the head.
func TestAReceiptOfAnotherTreeEndsNoFinalGates(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	for tree, want := range map[string]spec.Status{"tree-2": spec.StatusDone, "tree-1": spec.StatusFailed} {
		for _, work := range []string{run.FinalTask, run.HeadTask} {
			s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public}}
			l := runtest.New(t, s, run.Running)
			l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "h1", Tree: "tree-1"})
			l.Append("", run.LandingData{Batch: 2, State: run.LandingLanded, Old: "h1", Head: "h2", Tree: "tree-2"})
			l.Gates(work, 1, "h2")
			r := spec.Receipt{Gate: "test", Tree: tree, Verdict: spec.VerdictPass}
			require.NoError(t, wire.Sign("r1", "a", key, &r))
			l.Ended(work, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
			require.Equal(t, want, l.Works.Settled(work).Status, "%s of %s", work, tree)
		}
	}
}

// Each work's good receipts can prove a batch of the same tree: those of another environment than the base commit's must not, nor
// those that were compared with a base commit that was tested again elsewhere since.
func TestAProofIsOfTheEnvironmentOfTheBaseline(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Keys: map[string][]byte{"a": public}}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	l.Plan(spec.Task{ID: "try", Role: spec.RoleTester})
	base := func(env string) {
		l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Environment: env, Verdict: spec.VerdictPass}}})
	}
	tested := func(n int, env string) bool {
		r := spec.Receipt{Gate: "test", Tree: "tree", Environment: env, Verdict: spec.VerdictPass}
		require.NoError(t, wire.Sign("r1", "a", key, &r))
		l.Dispatched("try", spec.RoleTester, n, "b")
		l.Ended("try", n, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
		return l.Proofs.IsProven("tree", []string{"test"}, "")
	}
	base("e1")
	require.False(t, tested(1, "e2"))
	require.True(t, tested(2, "e1"))
	base("e3")
	require.False(t, l.Proofs.IsProven("tree", []string{"test"}, ""))
	require.True(t, tested(3, "e3"))
}
