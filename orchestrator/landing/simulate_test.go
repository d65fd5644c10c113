package landing_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// world is a simulated repository: a commit is the list of the patches that it holds, and its gate is red with a culprit, or with
// both patches of a pair.
type world struct {
	*runtest.Log

	culprits map[string]bool
	pairs    map[string]string
	// flaky are the trees on which the gate fails once.
	flaky func(tree string) bool
	// named reports whether the gate's output names the files of what is wrong; positions that it gives the line of each, in files of
	// one directory.
	named, positions bool
	// alike reports whether one failure names all that is wrong; rules are asked between those of this package.
	alike bool
	rules []func(*run.State) []run.Action
	// breaks is a patch beside which all others fail; "" for none.
	breaks string
	// words are what the patch of a task, and the source of the test that it fails, have; nil for nothing.
	words func(id string) string
	// narrowed reports whether the gate sees only what is wrong in the patches since the commit that a batch is built on.
	narrowed bool
	// away reports, where gates run without a patch that is red, whether what they need is away at a time; a run takes a second.
	away func(now time.Time) bool
	now  time.Time
	runs map[string]int
	// most is the largest number of batches that were tested at once, conflicts are pairs that do not merge.
	most      int
	conflicts map[string]string
}

func newWorld(t *testing.T, tasks, permits int, prove string, change ...func(*spec.Task)) *world {
	t.Helper()
	s := run.Spec{Base: "", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: tasks}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	s.Project.GatePermits, s.Project.Prove = permits, prove
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	var planned []spec.Task
	for i := range tasks {
		planned = append(planned, spec.Task{ID: fmt.Sprintf("t%03d", i), Role: "generator", Attempts: 1})
		for _, do := range change {
			do(&planned[i])
		}
	}
	l.Plan(planned...)
	return &world{
		Log: l, culprits: map[string]bool{}, pairs: map[string]string{}, flaky: func(string) bool { return false },
		runs: map[string]int{}, conflicts: map[string]string{},
	}
}

// submit has a task hand in its patch.
func (w *world) submit(id string) {
	w.Dispatched(id, "generator", 1, w.Head)
	r := runtest.Patched("c-"+id, "tree-"+id, w.Head)
	if r.Patch.Files = []string{id + "/a.go"}; len(w.Tasks.ByID[id].Task.Files) > 0 {
		r.Patch.Files = w.Tasks.ByID[id].Task.Files
	}
	w.Ended(id, 1, r)
	w.Append(id, run.TaskData{State: run.TaskAccepted})
}

// settle executes what the rules propose until they propose nothing.
func (w *world) settle() {
	rules := []func(*run.State) []run.Action{landing.Settle}
	if w.away != nil {
		rules = slices.Insert(rules, 0, landing.RetestWithout)
	}
	rules = slices.Concat(rules, w.rules, []func(*run.State) []run.Action{landing.Land})
	for i := 0; i < len(rules); i++ {
		before := w.Pos
		w.execute(rules[i](w.State))
		if w.Pos != before {
			i = -1
		}
		busy := 0
		for _, b := range w.Batches.Testing {
			if w.Works[b.Work].Attempts[b.Attempt].Result == nil {
				busy++
			}
		}
		w.most = max(w.most, busy)
	}
}

func (w *world) execute(actions []run.Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case landing.Merge:
			w.execute(a.Then(w.merge(a.Onto, a.Candidates)))
		case rank.Weigh:
			w.execute(a.Then(w.evidence(a)))
		case landing.Later:
			w.tick(a.Until.Sub(w.now))
			w.execute(a.Then)
		case run.Append:
			w.Append(a.Task, a.Data)
		case run.Assign:
			w.Append(a.Task, a.Data)
		}
	}
}

// evidence is what the mirror would have of the patches and tests; nothing where neither tells a word.
func (w *world) evidence(a rank.Weigh) rank.Evidence {
	e := rank.Evidence{Patches: map[string]string{}, Sources: make([]rank.Source, len(a.Failures))}
	if w.words == nil {
		return e
	}
	for _, id := range slices.Sorted(maps.Keys(a.Patches)) {
		e.Patches[id] = w.words(id)
	}
	for i, f := range a.Failures {
		e.Sources[i].Text = w.words(f.Name) // of the patch that it knows already
	}
	return e
}

func (w *world) merge(onto string, candidates []landing.Candidate) landing.Chain {
	chain := landing.Chain{Head: onto}
	for _, c := range candidates {
		if other := w.conflicts[c.Task]; other != "" && has(chain.Head, other) {
			chain.Conflicts = append(chain.Conflicts, landing.Conflict{Candidate: c, Paths: []string{"a.go"}, Waits: !has(w.Head, other)})
			continue
		}
		chain.Head += " " + c.Task
		chain.Tree = treeOf(chain.Head)
		chain.Merged = append(chain.Merged, landing.Merged{Candidate: c, Landed: chain.Head})
	}
	return chain
}

// treeOf is the same for all orders in which the patches of a commit were merged.
func treeOf(commit string) string {
	patches := strings.Fields(commit)
	slices.Sort(patches)
	return "tree " + strings.Join(patches, " ")
}

func has(commit, id string) bool { return slices.Contains(strings.Fields(commit), id) }

// wrong are the patches of a commit that its gate reports.
func (w *world) wrong(commit string) []string {
	var out []string
	for _, id := range strings.Fields(commit) {
		if w.culprits[id] || w.pairs[id] != "" && has(commit, w.pairs[id]) || w.breaks != "" && has(commit, w.breaks) {
			out = append(out, id)
		}
	}
	return out
}

// test ends the gate run of one of the batches.
func (w *world) test(pick int) {
	var open []*run.Batch
	for _, b := range w.Batches.Testing {
		if a := w.Works[b.Work].Attempts[b.Attempt]; a.Result == nil {
			open = append(open, b)
		}
	}
	if w.away != nil {
		defer w.tick(time.Second)
	}
	if w.away != nil && w.Works[run.HeadTask].Outstanding() {
		w.Ended(run.HeadTask, w.Works[run.HeadTask].Last, w.without(treeOf(w.Head)))
		return
	}
	require.NotEmpty(w, open, "nothing is tested, and tasks wait")
	b := open[pick%len(open)]
	r := spec.Receipt{Gate: "test", Tree: b.Tree, Verdict: spec.VerdictPass}
	wrong, form := w.wrong(b.Head), b.Tree
	if w.narrowed {
		wrong = slices.DeleteFunc(wrong, func(id string) bool { return has(b.Old, id) })
		r.Since, form = b.Old, b.Tree+" since "+b.Old
	}
	w.runs[form]++
	if w.runs[form] == 1 && w.flaky(b.Tree) {
		wrong = append(wrong, "flake")
	}
	if w.away != nil && w.away(w.now) {
		w.Ended(b.Work, b.Attempt, w.without(b.Tree))
		return
	}
	if len(wrong) == 0 {
		w.Ended(b.Work, b.Attempt, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
		return
	}
	r.Verdict, r.ExitCode, r.Paths, r.Imports = spec.VerdictFail, 1, map[string][]string{}, map[string][]string{}
	r.Positions = map[string][]string{}
	for _, id := range wrong {
		if w.positions {
			signature := w.Tasks.ByID[id].Task.Files[0] + ": a wrong word"
			r.Signatures, r.Positions[signature] = append(r.Signatures, signature), w.Tasks.ByID[id].Task.Files
			continue
		}
		if w.alike {
			r.Signatures = []string{"error: there are wrong words"}
			continue
		}
		r.Signatures = append(r.Signatures, "test: "+id)
		if w.named {
			r.Paths["test: "+id], r.Imports[id] = []string{id}, append(r.Imports[id], []string{}...)
			if other := w.pairs[id]; other != "" {
				r.Imports[id] = []string{other}
			}
		}
	}
	failed := runtest.Failed(wire.FaultGate, "red")
	failed.Receipts = []spec.Receipt{r}
	w.Ended(b.Work, b.Attempt, failed)
}

// without is what the gate finds on a tree where nothing is wrong but what it needs may be away.
func (w *world) without(tree string) spec.Result {
	r := spec.Receipt{Gate: "test", Tree: tree, Verdict: spec.VerdictPass}
	if !w.away(w.now) {
		return spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
	}
	r.Verdict, r.ExitCode, r.Signatures = spec.VerdictFail, 1, []string{"error: connection refused"}
	failed := runtest.Failed(wire.FaultGate, "red")
	failed.Receipts = []spec.Receipt{r}
	return failed
}

func (w *world) tick(d time.Duration) {
	w.now = w.now.Add(d)
	w.At(w.now)
}

// prove tests until every task has ended, and checks what holds at each moment.
func (w *world) prove(dice *rand.Rand) {
	w.settle()
	for steps := 0; !w.Tasks.AllEnded(); steps++ {
		require.Less(w, steps, 100_000, "it does not end")
		w.test(dice.IntN(8))
		w.settle()
		require.Empty(w, w.wrong(w.Head), "the branch is red")
	}
	require.Empty(w, w.Batches.Testing)
	for tree, runs := range w.runs {
		require.True(w, runs <= 2 || w.away != nil, tree)
	}
}

func (w *world) total() (n int) {
	for _, runs := range w.runs {
		n += runs
	}
	return n
}

// Whatever is wrong, alone or together, exactly the right tasks land, no tree is tested without need, and it ends.
func TestTheQueueLandsWhatIsRight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		dice := rand.New(rand.NewPCG(seed, 10))
		n := 1 + dice.IntN(40)
		w := newWorld(t, n, 1+dice.IntN(4), []string{spec.ProveBatch, spec.ProveBatch, spec.ProveEach}[dice.IntN(3)])
		w.named, w.narrowed = dice.IntN(2) == 0, seed%2 == 0
		if share := dice.IntN(4); share > 0 {
			w.flaky = func(tree string) bool { return (len(tree)+int(seed))%(3*share) == 0 }
		}
		for range dice.IntN(1 + n/2) {
			w.culprits[w.Tasks.Order[dice.IntN(n)]] = true
		}
		var paired []string
		for range dice.IntN(3) {
			a, b := w.Tasks.Order[dice.IntN(n)], w.Tasks.Order[dice.IntN(n)]
			if a == b || w.culprits[a] || w.culprits[b] || slices.Contains(paired, a) || slices.Contains(paired, b) {
				continue
			}
			w.pairs[a], w.pairs[b], paired = b, a, append(paired, a, b)
		}
		order := dice.Perm(n)
		for len(order) > 0 { // they come in a few at a time
			for range min(len(order), 1+dice.IntN(n)) {
				w.submit(w.Tasks.Order[order[0]])
				order = order[1:]
			}
			w.settle()
			if len(w.Batches.Testing) > 0 {
				w.test(dice.IntN(8))
				w.settle()
			}
		}
		w.prove(dice)
		for _, id := range w.Tasks.Order {
			landed := w.Tasks.ByID[id].State == run.TaskLanded
			switch other := w.pairs[id]; {
			case other != "":
				require.NotEqual(t, landed, w.Tasks.ByID[other].State == run.TaskLanded, "seed %d: of %s and %s one lands", seed, id, other)
			default:
				require.Equal(t, !w.culprits[id], landed, "seed %d: %s: %s", seed, id, w.Tasks.ByID[id].Reason)
			}
		}
		require.LessOrEqual(t, w.most, w.Spec.Project.GatePermits)
	}
}

// How often gates run where all patches but the first come while that is tested, and nothing but the names of failures leads to
// patches. One patch at a time takes a run each, and one more for each that is wrong.
func TestGateRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tasks, wrong, permits int
		named                 bool
		want                  int
	}{
		{64, 0, 1, true, 2},
		{64, 3, 1, true, 4},
		{100, 3, 1, true, 4},
		{100, 3, 1, false, 25},
		{100, 3, 4, false, 27},
		{500, 250, 1, true, 13},
	} {
		w := newWorld(t, c.tasks, c.permits, spec.ProveBatch)
		w.named = c.named
		for i := range c.wrong {
			w.culprits[w.Tasks.Order[1+i*(c.tasks-1)/c.wrong]] = true
		}
		w.submit(w.Tasks.Order[0])
		w.settle()
		for _, id := range w.Tasks.Order[1:] {
			w.submit(id)
		}
		w.prove(rand.New(rand.NewPCG(1, 1)))
		require.Equal(t, c.want, w.total(), "%+v", c)
		require.Equal(t, c.tasks-c.wrong, w.Tasks.Counts()[run.TaskLanded])
	}
}
