package landing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// workshop is a simulated repository whose tasks get better from attempt to attempt: a commit is the list of its patches,
// task@attempt, and its gate is red with the newest patch of a task that is wrong so often.
type workshop struct {
	*runtest.Log

	dice *rand.Rand
	// bad is how many attempts of a task are wrong, conflicts the task whose change it does not merge with, missing the sets that
	// fail in a file of no task, idle the tasks that change nothing.
	bad       map[string]int
	conflicts map[string]string
	missing   map[string]bool
	idle      map[string]bool
	flaky     func(tree string) bool
	named     bool
	runs      map[string]int
}

func (w *workshop) step(actions []run.Action) {
	for _, action := range actions {
		switch a := action.(type) {
		case landing.Merge:
			w.step(a.Then(w.merge(a)))
		case rank.Weigh:
			w.step(a.Then(rank.Evidence{}))
		case run.Append:
			w.Append(a.Task, a.Data)
		case run.Assign:
			w.Append(a.Task, a.Data)
		}
	}
}

// rules asks the rules until they propose nothing.
func (w *workshop) rules() {
	rules := []func(*run.State) []run.Action{landing.Settle, landing.ParkSets, landing.Land, schedule.Dispatch}
	for i := 0; i < len(rules); i++ {
		before := w.Pos
		w.step(rules[i](w.State))
		if w.Pos != before {
			i = -1
		}
	}
}

func (w *workshop) merge(a landing.Merge) landing.Chain {
	var out []landing.Conflict
	for {
		chain := landing.Chain{Head: a.Onto}
		if a.Set == "" {
			out = nil
		}
		restart := false
		for _, c := range a.Candidates {
			if slices.ContainsFunc(out, func(k landing.Conflict) bool { return k.Task == c.Task }) {
				continue
			}
			other, began := w.conflicts[c.Task], w.Works[c.Task].Attempts[c.Attempt].Head
			if other != "" && holds(chain.Head, other) && !holds(began, other) {
				out = append(out, landing.Conflict{Candidate: c, Paths: []string{"a.go"}, Waits: a.Set == "" && !holds(w.Head, other)})
				if restart = a.Set != ""; restart {
					break
				}
				continue
			}
			chain.Head += fmt.Sprintf(" %s@%d", c.Task, c.Attempt)
			chain.Tree = treeOf(chain.Head)
			chain.Merged = append(chain.Merged, landing.Merged{Candidate: c, Landed: chain.Head})
		}
		if restart {
			continue
		}
		for i := range chain.Merged {
			if a.Set != "" {
				chain.Merged[i].Landed = chain.Head
			}
		}
		chain.Conflicts = out
		return chain
	}
}

// holds reports whether a commit has a patch of a task.
func holds(commit, id string) bool {
	return slices.ContainsFunc(strings.Fields(commit), func(p string) bool { return strings.HasPrefix(p, id+"@") })
}

// wrong lists what the gate reports a commit.
func (w *workshop) wrong(commit string) []string {
	newest := map[string]int{}
	for _, p := range strings.Fields(commit) {
		id, n, _ := strings.Cut(p, "@")
		attempt, err := strconv.Atoi(n)
		require.NoError(w, err)
		newest[id] = max(newest[id], attempt)
	}
	var out []string
	for id, attempt := range newest {
		if attempt <= w.bad[id] {
			out = append(out, id)
		}
		if set := w.Tasks.ByID[id].Task.ChangeSet; w.missing[set] {
			out = append(out, "outside-"+set)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// work ends an attempt, or a gate run.
func (w *workshop) work() {
	var open []*run.Work
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range w.Queue {
			if !yield(id) {
				return
			}
		}
	}) {
		if x := w.Works[id]; x.Outstanding() {
			open = append(open, x)
		}
	}
	require.NotEmpty(w, open, "nothing is at work, and tasks wait")
	x := open[w.dice.IntN(len(open))]
	if t := w.Tasks.ByID[x.ID]; t != nil {
		r := spec.Result{Status: spec.StatusDone}
		if !w.idle[x.ID] {
			r = runtest.Patched(fmt.Sprintf("%s@%d", x.ID, x.Last), fmt.Sprintf("own %s@%d", x.ID, x.Last), x.Attempts[x.Last].Head)
			r.Patch.Files = []string{x.ID + "/a.go"}
		}
		w.Ended(x.ID, x.Last, r)
		w.Append(x.ID, run.TaskData{State: run.TaskAccepted})
		return
	}
	for _, b := range w.Batches.Testing {
		if b.Work == x.ID {
			w.gate(b)
			return
		}
	}
	require.Fail(w, "a gate run of no batch: "+x.ID)
}

func (w *workshop) gate(b *run.Batch) {
	w.runs[b.Tree]++
	r := spec.Receipt{Gate: "test", Tree: b.Tree, Verdict: spec.VerdictPass}
	wrong := w.wrong(b.Head)
	if w.runs[b.Tree] == 1 && w.flaky(b.Tree) {
		wrong = append(wrong, "flake")
	}
	if len(wrong) == 0 {
		w.Ended(b.Work, b.Attempt, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
		return
	}
	r.Verdict, r.ExitCode, r.Paths = spec.VerdictFail, 1, map[string][]string{}
	for _, id := range wrong {
		signature := "build: " + id
		r.Signatures = append(r.Signatures, signature)
		if w.named && id != "flake" || strings.HasPrefix(id, "outside-") {
			r.Paths[signature] = []string{id, id + "/a.go"}
		}
	}
	failed := runtest.Failed(wire.FaultGate, "red")
	failed.Receipts = []spec.Receipt{r}
	w.Ended(b.Work, b.Attempt, failed)
}

// Whatever is wrong, a set lands whole or not at all, with all that may become right in three attempts, and it ends.
func TestChangeSetsLandAsOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		w := newWorkshop(t, seed)
		w.rules()
		for steps := 0; !w.Tasks.AllEnded(); steps++ {
			require.Less(t, steps, 20_000, "seed %d: it does not end", seed)
			w.work()
			w.rules()
			require.Empty(t, w.wrong(w.Head), "seed %d: the branch is red", seed)
		}
		for tree, runs := range w.runs {
			require.LessOrEqual(t, runs, 2, "seed %d: %s", seed, tree)
		}
		w.check(seed)
	}
}

func newWorkshop(t *testing.T, seed uint64) *workshop {
	t.Helper()
	dice := rand.New(rand.NewPCG(seed, 20))
	n := 2 + dice.IntN(24)
	s := run.Spec{Base: "", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 1 + dice.IntN(n)}
	s.Roles["codemod"] = spec.Role{Name: "codemod", Executor: spec.ExecutorCommand, Writes: true}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	s.Project.GatePermits = 1 + dice.IntN(4)
	l := runtest.New(t, s, run.Running)
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass}}})
	w := &workshop{
		Log: l, dice: dice, bad: map[string]int{}, conflicts: map[string]string{}, missing: map[string]bool{}, idle: map[string]bool{},
		flaky: func(string) bool { return false }, named: dice.IntN(2) == 0, runs: map[string]int{},
	}
	if dice.IntN(3) == 0 {
		w.flaky = func(tree string) bool { return (len(tree)+int(seed))%5 == 0 }
	}
	var planned []spec.Task
	for i := range n {
		task := spec.Task{ID: fmt.Sprintf("t%03d", i), Role: []string{"generator", "codemod"}[dice.IntN(2)]}
		task.Files = []string{task.ID}
		if k := dice.IntN(4); k > 0 {
			task.ChangeSet = fmt.Sprintf("set%d", k)
			w.idle[task.ID] = dice.IntN(6) == 0
		}
		if i > 0 && dice.IntN(6) == 0 { // on a task of no set, so that there is no circle
			if on := planned[dice.IntN(i)]; on.ChangeSet == "" {
				task.DependsOn = []string{on.ID}
			}
		}
		switch dice.IntN(6) {
		case 0:
			w.bad[task.ID] = 1 + dice.IntN(2)
		case 1:
			if dice.IntN(3) == 0 && !w.idle[task.ID] {
				w.bad[task.ID] = 9
			}
		case 2:
			if i > 0 {
				w.conflicts[task.ID] = planned[dice.IntN(i)].ID
			}
		}
		if w.idle[task.ID] {
			w.bad[task.ID] = 0
		}
		planned = append(planned, task)
	}
	w.missing["set3"] = dice.IntN(4) == 0
	l.Plan(planned...)
	return w
}

// check compares the ends of the tasks with what was to be expected.
func (w *workshop) check(seed uint64) {
	lost := map[string]bool{} // sets and tasks that cannot land
	name := func(t *run.Task) string {
		if t.Task.ChangeSet != "" {
			return t.Task.ChangeSet
		}
		return t.Task.ID
	}
	for again := true; again; {
		again = false
		for _, id := range w.Tasks.Order {
			t := w.Tasks.ByID[id]
			changes := slices.ContainsFunc(w.Tasks.Order, func(o string) bool { return name(w.Tasks.ByID[o]) == name(t) && !w.idle[o] })
			is := w.bad[id] > 2 || w.missing[t.Task.ChangeSet] && changes
			for _, dep := range t.Task.DependsOn {
				is = is || lost[name(w.Tasks.ByID[dep])]
			}
			if is && !lost[name(t)] {
				lost[name(t)], again = true, true
			}
		}
	}
	for _, id := range w.Tasks.Order {
		t := w.Tasks.ByID[id]
		want := run.TaskLanded
		switch {
		case lost[name(t)]:
			want = run.TaskParked
		case w.idle[id]:
			want = run.TaskDone
		}
		require.Equal(w, want, t.State, "seed %d: %s: %s", seed, id, t.Reason)
	}
}
