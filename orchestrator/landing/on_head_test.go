package landing_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// What is red without a patch too is not its fault: an outage is waited for, and what has landed is known from then on.
func TestWhatIsRedWithoutAPatch(t *testing.T) {
	t.Parallel()
	const (
		first, second, third = "assign --batch-2/1 to tester on l", "assign --batch-2/2 to tester on l", "assign --batch-2/3 to tester on l"
		together             = "task a pending red together with landed changes: test is red"
		later, back, landed  = "landing.later", "task a pending test is red", "landing landed a"
	)
	red := func(tree string, names ...string) spec.Result {
		r := redIn(tree, "elsewhere")
		r.Receipts[0].Kind, r.Receipts[0].Tests, r.Receipts[0].Passed = spec.KindTests, 3, 2
		if len(names) > 0 {
			r.Receipts[0].Signatures = names
		}
		return r
	}
	own := redIn("tree-l", "of-a/x.go")
	own.Receipts[0].Positions = own.Receipts[0].Paths
	inFull := green("tree-h")
	narrowed := green("tree-h")
	narrowed.Receipts[0].Since = "b"
	hiding := red("tree-l")
	hiding.Receipts[0].Hidden = []string{"package: p"}
	on := func(head string, n string) string { return "assign --head/" + n + " to tester on " + head }
	for name, c := range map[string]struct {
		before   *spec.Result // of the batch that landed before; nil for none
		of, head []spec.Result
		want     []string
	}{
		"green without it: it is tested once more": {
			nil,
			[]spec.Result{red("tree-l"), red("tree-l")},
			[]spec.Result{green("tree-b")},
			[]string{on("b", "1"), "landing red a", second, "landing split a", back},
		},
		"a line of what it changed": {
			nil, []spec.Result{own, own}, nil, []string{"landing red a", second, "landing split a", back},
		},
		"another failure without it": {
			nil,
			[]spec.Result{red("tree-l"), red("tree-l")},
			[]spec.Result{red("tree-b", "test: 7")},
			[]string{on("b", "1"), "landing red a", second, "landing split a", back},
		},
		"an outage that ends": {
			nil,
			[]spec.Result{red("tree-l"), green("tree-l")},
			[]spec.Result{red("tree-b")},
			[]string{on("b", "1"), "wait 30s", later, "landing red a", second, landed, "move the branch"},
		},
		"an outage that stays": {
			nil,
			[]spec.Result{red("tree-l"), red("tree-l"), red("tree-l"), red("tree-l")},
			[]spec.Result{red("tree-b"), red("tree-b"), red("tree-b")},
			[]string{
				on("b", "1"), "wait 30s", later, "landing red a", second, on("b", "2"), "wait 1m0s", later, "landing red a", third,
				on("b", "3"), "wait 30s", later, "landing red a", "assign --batch-2/4 to tester on l", "landing split a", back,
			},
		},
		"red on a head that was proven in full": {
			&inFull,
			[]spec.Result{red("tree-l"), green("tree-l")},
			[]spec.Result{red("tree-h")},
			[]string{on("h", "1"), "wait 30s", later, "landing red a", second, landed, "move the branch"},
		},
		"red on the base commit too": {
			&narrowed,
			[]spec.Result{red("tree-l"), green("tree-l")},
			[]spec.Result{red("tree-h"), red("tree-b")},
			[]string{on("h", "1"), on("b", "2"), "wait 30s", later, "landing red a", second, landed, "move the branch"},
		},
		"because of what has landed": {
			&narrowed,
			[]spec.Result{red("tree-l")},
			[]spec.Result{red("tree-h"), green("tree-b")},
			[]string{on("h", "1"), on("b", "2"), "known", "landing dropped a"},
		},
		"it breaks more": {
			&narrowed,
			[]spec.Result{red("tree-l", "test: 0", "test: 1"), red("tree-l", "test: 0", "test: 1")},
			[]spec.Result{red("tree-h"), green("tree-b")},
			[]string{on("h", "1"), on("b", "2"), "known", "landing red a", second, "landing split a", together},
		},
		"it hides more": {
			&narrowed,
			[]spec.Result{hiding, hiding},
			[]spec.Result{red("tree-h"), green("tree-b")},
			[]string{on("h", "1"), on("b", "2"), "known", "landing red a", second, "landing split a", together},
		},
		"gates that could not run": {
			nil,
			[]spec.Result{red("tree-l"), red("tree-l")},
			[]spec.Result{runtest.Failed("internal", "disk"), runtest.Failed("internal", "disk"), runtest.Failed("internal", "disk"), green("tree-b")},
			[]string{on("b", "1"), on("b", "2"), on("b", "3"), "landing red a", second, "landing split a", back},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "bad")
			l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Tree: "tree-b", Verdict: spec.VerdictPass}}})
			old := "b"
			if c.before != nil {
				batch(l, 1, 1, "b", "h", "bad")
				l.Ended("--batch-1", 1, *c.before)
				l.Do(landing.Settle(l.State))
				old = "h"
			}
			batch(l, 2, 1, old, "l", "a")
			l.Ended("--batch-2", 1, c.of[0])
			require.Equal(t, c.want, follow(l, c.of[1:], c.head))
		})
	}
}

// follow does what is proposed, with the results of the batch and of the runs without it, until the batch is over.
func follow(l *runtest.Log, of, head []spec.Result) (did []string) {
	for range 40 {
		actions := landing.RetestWithout(l.State)
		if len(actions) == 0 {
			actions = landing.Settle(l.State)
		}
		for _, a := range actions {
			d, _ := a.(run.Append)
			switch d, _ := d.Data.(run.Data); {
			case d.Outage != nil:
				did = append(did, "wait "+d.Outage.Wait.String())
			case d.Known != nil:
				did = append(did, "known")
			default:
				did = append(did, runtest.Describe([]run.Action{a})...)
			}
		}
		if later, waits := actions[0].(landing.Later); waits {
			l.At(later.Until)
			did, actions = append(did, runtest.Describe(later.Then)...), later.Then
		}
		l.Do(actions)
		switch {
		case l.Works[run.HeadTask].Outstanding():
			l.Ended(run.HeadTask, l.Works[run.HeadTask].Last, head[0])
			head = head[1:]
		case len(l.Batches.Testing) == 0:
			return did
		case l.Works["--batch-2"].Outstanding():
			l.Ended("--batch-2", l.Works["--batch-2"].Last, of[0])
			of = of[1:]
		}
	}
	return append(did, "it does not end")
}

// A batch that is as red as the head lands with commits that say so. What a full run finds on what landed is known next.
func TestWhatTheHeadHasLandsUnverified(t *testing.T) {
	t.Parallel()
	l := newLog(t, "bad", "a", "c")
	red := redIn("tree-l", "of-bad/x.go")
	red.Receipts[0].Kind, red.Receipts[0].Tests = spec.KindTests, 1
	batch(l, 1, 1, "b", "h", "bad")
	narrowed := green("tree-h")
	narrowed.Receipts[0].Since = "b"
	l.Ended("--batch-1", 1, narrowed)
	l.Do(landing.Settle(l.State))
	require.Equal(t, "h", l.Head)
	l.Append("", run.Data{Known: map[string]spec.Receipt{"test": red.Receipts[0]}})
	batch(l, 2, 1, "h", "l", "a")
	l.Ended("--batch-2", 1, red)
	require.Empty(t, landing.RetestWithout(l.State), "it is known")
	l.Do(landing.Settle(l.State))
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["a"].State)
	m, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Equal(t, "red without it too, because of what has landed (bad): test: 0", m.Candidates[0].Unverified)
	chain := landing.Chain{Head: "l2", Tree: "tree-l", Merged: []landing.Merged{{Candidate: m.Candidates[0], Landed: "l2"}}}
	l.Do(m.Then(chain))
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["a"].State)
	require.NotEmpty(t, l.Tasks.ByID["a"].Landed.Unverified)
	require.Empty(t, l.Batches.Landed[1].By, "a red gate proves nothing")
	require.False(t, l.Proofs.IsProven("tree-l", []string{"test"}, ""))
	require.NotNil(t, l.Proofs.KnownRed(red.Receipts[0]))
	batch(l, 4, 1, "l2", "m", "c")
	l.Ended("--batch-4", 1, green("tree-m"))
	l.Do(landing.Settle(l.State))
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["c"].State)
	require.Nil(t, l.Proofs.KnownRed(red.Receipts[0]), "it passes")
}

// While gates run without a patch, and while a batch waits for an outage, no other one is made.
func TestNothingIsTestedDuringAnOutage(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a", "c")
	batch(l, 1, 1, "b", "l", "a")
	l.Ended("--batch-1", 1, redIn("tree-l", "elsewhere"))
	require.NotEmpty(t, landing.Land(l.State))
	l.Do(landing.RetestWithout(l.State))
	require.Empty(t, landing.Land(l.State))
	require.Equal(t, "the gates run on the integration head", landing.Idle(l.State))
	require.Empty(t, landing.Settle(l.State))
	l.Ended(run.HeadTask, 1, redIn("", "elsewhere"))
	l.At(time.Unix(5000, 0))
	l.Do(landing.RetestWithout(l.State))
	require.Empty(t, landing.Land(l.State))
	require.Empty(t, landing.Settle(l.State))
	require.Equal(t, "a batch waits for a service of its gates", landing.Idle(l.State))
	require.Equal(t, time.Unix(5030, 0), l.Batches.Testing[0].Until, "on the conductor's clock")
}

// Whatever is wrong, the right patches land when what the gates need is away for a while.
func TestSimulateAnOutage(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		dice := rand.New(rand.NewPCG(seed, 11))
		w := newWorld(t, 1+dice.IntN(12), 1+dice.IntN(3), spec.ProveBatch)
		w.named, w.now = seed%2 == 0, time.Unix(1000, 0)
		from := w.now.Add(time.Duration(dice.IntN(5)) * time.Second)
		w.away = func(now time.Time) bool { return !now.Before(from) && now.Before(from.Add(50*time.Second)) }
		w.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Tree: treeOf(""), Verdict: spec.VerdictPass}}})
		for range dice.IntN(3) {
			w.culprits[w.Tasks.Order[dice.IntN(len(w.Tasks.Order))]] = true
		}
		for _, id := range w.Tasks.Order {
			w.submit(id)
		}
		w.prove(dice)
		for _, id := range w.Tasks.Order {
			require.Equal(t, !w.culprits[id], w.Tasks.ByID[id].State == run.TaskLanded, "seed %d: %s: %s", seed, id, w.Tasks.ByID[id].Reason)
		}
	}
}

// A change set on a head that is known to be red says so too: it was dropped and made again without end.
func TestASetOnARedHeadLandsUnverified(t *testing.T) {
	t.Parallel()
	l := newLog(t, "x")
	l.Plan(spec.Task{ID: "c", Role: "generator", ChangeSet: "s"}, spec.Task{ID: "d", Role: "generator", ChangeSet: "s"})
	for _, id := range []string{"c", "d"} {
		l.Dispatched(id, "generator", 1, "b")
		l.Ended(id, 1, runtest.Patched("c-"+id, "t-"+id, "b"))
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	red := redIn("tree-l", "elsewhere")
	red.Receipts[0].Kind, red.Receipts[0].Tests = spec.KindTests, 1
	l.Append("", run.Data{Known: map[string]spec.Receipt{"test": red.Receipts[0]}})
	set := func(head string) []run.Action {
		m, ok := landing.Land(l.State)[0].(landing.Merge)
		for ok && m.Set == "" { // the single patch is first
			l.Append("x", run.TaskData{State: run.TaskSkipped})
			m, ok = landing.Land(l.State)[0].(landing.Merge)
		}
		require.True(t, ok)
		var merged []landing.Merged
		for _, c := range m.Candidates {
			merged = append(merged, landing.Merged{Candidate: c, Landed: head})
		}
		return m.Then(landing.Chain{Head: head, Tree: "tree-l", Merged: merged})
	}
	l.Do(set("l"))
	work := l.Batches.Testing[0].Work
	l.Ended(work, 1, red)
	l.Do(landing.Settle(l.State))
	require.Equal(t, run.TaskAccepted, l.Tasks.ByID["c"].State)
	l.Do(set("l2"))
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["c"].State)
	require.NotEmpty(t, l.Tasks.ByID["d"].Landed.Unverified)
}
