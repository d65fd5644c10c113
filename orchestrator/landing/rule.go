package landing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Merge has the candidates merged onto a commit; Then proposes what follows, nothing when all of them have to wait.
type Merge struct {
	run.Proposal

	Head, Onto string
	// Set is the change set that the candidates are; empty for patches that may land one without the other. Each wants a commit
	// for each patch of it.
	Set        string
	Each       bool
	Candidates []Candidate
	// Window returns until when the patches wait for tasks that are under way, those that are ready to start among them, and for
	// how long at most; zero for not at all.
	Window func(ready []string) (until time.Time, most time.Duration)
	Then   func(Chain) []run.Action
}

// Key is the same for merges that have the same outcome.
func (m Merge) Key() string {
	key := m.Head + " " + m.Onto
	for _, c := range m.Candidates {
		key += " " + c.Commit
	}
	return key
}

// Land takes the next batch while a gate permit is free: all waiting patches up to the limit, or a change set, built on the
// newest batch under test. While parts of a failed batch are searched for the culprit, they come first, each on the integration
// head. Nothing is tested before the baseline is known.
func Land(s *run.State) []run.Action {
	in := factsOf(s)
	if barred(in, s.Baselined()) != "" {
		return nil
	}
	waiting := next(in)
	if len(waiting) == 0 {
		return nil
	}
	onto := s.Head
	if n := len(in.batches.Testing); n > 0 && waiting[0].Part == 0 {
		onto = in.batches.Testing[n-1].Head
	}
	if set := in.tasks.Set(waiting[0]); set != nil {
		if actions := review(s, set); len(actions) > 0 {
			return actions
		}
		return landSet(s, onto, set)
	}
	m := Merge{Head: s.Head, Onto: onto, Then: func(c Chain) []run.Action { return merged(s, onto, c) }}
	for _, t := range waiting {
		m.Candidates = append(m.Candidates, candidate(s, t))
	}
	m.Window = func(ready []string) (time.Time, time.Duration) { return window(s, waiting, ready) }
	return []run.Action{m}
}

// next lists the tasks of the next batch, in plan order; of a change set its first one. Those of a held template wait: its brief
// may be wrong.
func next(in facts) []*run.Task {
	waiting := slices.DeleteFunc(slices.Collect(in.tasks.In(run.TaskAccepted)), func(t *run.Task) bool {
		set := in.tasks.Set(t)
		lacks := func(t *run.Task) bool { return lacksRed(in.spec, t) }
		incomplete := set != nil && (!set.Complete() || set.Lost != nil || slices.ContainsFunc(set.Members, lacks))
		return incomplete || in.templates.Held[t] != nil
	})
	search := slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return searched(in.tasks, b) })
	// What the part under test tells decides what becomes of those that were left out of it.
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool { return search && t.Suspected.Out })
	if len(waiting) == 0 {
		return nil
	}
	part := slices.MinFunc(waiting, func(a, b *run.Task) int { return cmp.Compare(a.Part, b.Part) }).Part
	if part == 0 && search {
		return nil
	}
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool { return t.Part != part })
	if waitsToMend(in, waiting[0]) {
		return nil
	}
	if in.tasks.Set(waiting[0]) != nil {
		return waiting[:1]
	}
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool {
		return in.tasks.Set(t) != nil || !slices.Equal(t.Task.Mends, waiting[0].Task.Mends)
	})
	if part == 0 {
		waiting = oneOfEach(in.templates, waiting[:min(len(waiting), limit(in))])
	}
	return waiting
}

// oneOfEach leaves out all shards but one of each template on which the gates have failed and not passed: that one tells more
// than a batch that fails.
func oneOfEach(templates *run.Templates, waiting []*run.Task) []*run.Task {
	had := map[string]bool{}
	return slices.DeleteFunc(waiting, func(t *run.Task) bool {
		name := t.Task.ShardOf
		more := had[name]
		had[name] = more || templates.Doubted(name)
		return more
	})
}

// searched reports whether a batch is a part of one that failed.
func searched(tasks *run.Tasks, b *run.Batch) bool { return tasks.ByID[b.Tasks[0].Task].Part != 0 }

func limit(in facts) int {
	if in.spec.Project.Prove == spec.ProveEach {
		return 1
	}
	return batchLimit(in.proofs, in.batches)
}

func candidate(s *run.State, t *run.Task) Candidate {
	role := s.Spec.Made(t, s.Works)
	model := ""
	if role.Executor == spec.ExecutorModel {
		model = s.Spec.Project.ModelName(role.Model)
	}
	c := Candidate{
		Run: s.Spec.Run, Task: t.Task.ID, Title: t.Task.Title, Role: role.Name, Model: model,
		Attempt: t.Attempt, Unverified: proof.UnverifiedPatch(s, t),
	}
	if t.Dropped.Attempt == t.Attempt {
		c.Unverified, c.Better = cmp.Or(c.Unverified, t.Dropped.Unverified), t.Dropped.Better
	}
	if t.Result.Patch != nil {
		c.Commit = t.Result.Patch.Commit
	}
	return c
}

// merged sends back what conflicts with the integration head and has the chain tested, unless its tree was. A patch that
// conflicts only with others of its batch, or with a batch under test, waits: regenerated now, it would start from the old head
// and conflict once more.
func merged(s *run.State, onto string, chain Chain) []run.Action {
	in := factsOf(s)
	var actions []run.Action
	for _, k := range chain.Conflicts {
		if k.Waits {
			continue
		}
		actions = append(actions, recovery.Failed(s, in.tasks.ByID[k.Task], spec.Fault{
			Class:   wire.FaultConflict,
			Message: "it conflicts with what landed before it in " + strings.Join(k.Paths, ", "),
			Detail:  k.Message,
		})...)
	}
	if len(chain.Merged) == 0 {
		return actions
	}
	d := run.LandingData{Batch: in.batches.Count + 1, Old: onto, Head: chain.Head, Tree: chain.Tree}
	for _, m := range chain.Merged {
		p := in.tasks.ByID[m.Task].Result.Patch
		d.Tasks = append(d.Tasks, run.Landed{
			Task: m.Task, Attempt: m.Attempt, Commit: m.Landed, Added: p.Added, Deleted: p.Deleted, Files: len(p.Files),
			Unverified: m.Unverified, Better: m.Better,
		})
	}
	return append(actions, proveOn(s, d)...)
}

// proveOn proposes what a merged chain needs: its gates, or nothing but their verdict where its tree was tested.
func proveOn(s *run.State, d run.LandingData) []run.Action {
	in, names, onHead := factsOf(s), run.Names(d.Tasks), d.Old == s.Head
	d.Mends = mendsOf(in, in.tasks.ByID[names[0]])
	wanted := gates(in.tasks, in.spec, d.Tasks)
	times := 1 // a part of several tasks is cut at once
	flakes := flakesAlone(in.proofs, run.ReceiptsOf(in.proofs.Failed(d.Tree, wanted, d.Old)))
	if flakes || alone(d.Set, d.Tasks) || in.tasks.ByID[d.Tasks[0].Task].Part == 0 || suspectedOf(in.tasks, d) {
		times = maxRuns
	}
	receipts, lands := landsWith(in, d, wanted)
	switch {
	case slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return b.Tree == d.Tree }):
		return nil // it is being tested
	case onHead && lands:
		d.Receipts = receipts
		return landSaying(s, d)
	case len(d.Tasks) > 1 && d.Set == "" && failsAlone(in.tasks, d.Tasks) && onHead:
		return cutAgain(in, d)
	case len(d.Tasks) > 1 && d.Set == "" && onHead && untried(in.tasks, in.templates, names) && weighed(in.tasks, names):
		return oneFirst(in.works, in.batches, d, byOdds(names, known(in.tasks, names)), nil)
	case onHead && in.proofs.Runs(d.Tree, wanted, d.Old) >= times:
		return red(s, d, in.proofs.Failed(d.Tree, wanted, d.Old))
	default:
		return []run.Action{test(d, wanted, 1)}
	}
}

// suspectedOf reports whether a batch is all that its own tree, which failed, leads to: that it fails again is the verdict.
func suspectedOf(tasks *run.Tasks, d run.LandingData) bool {
	return !slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return tasks.ByID[l.Task].Suspected.Tree != d.Tree })
}

// alone reports whether a batch is never cut: one patch, or a change set.
func alone(set string, tasks []run.Landed) bool { return set != "" || len(tasks) == 1 }

// maxRuns is how often the same gates run on a tree: once more after a failure, to tell it from a flake.
const maxRuns = 2

// test assigns a batch's gates.
func test(d run.LandingData, gates []string, try int) run.Action {
	d.State, d.Receipts = run.LandingTesting, nil
	d.Dispatch = &run.Dispatch{
		Task: fmt.Sprintf("%s-%d", run.BatchTask, d.Batch), Attempt: try, Role: spec.RoleTester, Head: d.Head, Gates: gates,
		Since: d.Old, Mends: d.Mends, InFirst: d.Set != "" || len(d.Mends) > 0,
	}
	return run.Assign{Append: run.Append{Data: d}, Dispatch: d.Dispatch}
}

// move advances the integration branch: first the event, which is the truth, then the ref, which follows it.
func move(s *run.State, d run.LandingData) []run.Action {
	in := factsOf(s)
	d.State, d.Unverified = run.LandingLanded, proof.Unverified(s)
	open := func(t *run.Task) bool { return t.Part != 0 }
	ours := func(t *run.Task) bool {
		return slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return l.Task == t.Task.ID })
	}
	if !slices.ContainsFunc(slices.Collect(in.tasks.Open()), func(t *run.Task) bool { return open(t) && !ours(t) }) {
		d.Limit = min(mostTasks, 2*batchLimit(in.proofs, in.batches)) // the culprit is out
	}
	return []run.Action{run.Append{Data: d}, run.SyncHead{}}
}

// gates is the union of what the tasks of a batch ask for.
func gates(tasks *run.Tasks, about *run.Spec, landed []run.Landed) []string {
	list := make([]*run.Task, len(landed))
	for i, l := range landed {
		list[i] = tasks.ByID[l.Task]
	}
	return gatesOf(about, list)
}

func gatesOf(about *run.Spec, tasks []*run.Task) []string {
	var names []string
	for _, t := range tasks {
		if len(t.Task.Gates) == 0 {
			return about.GateNames()
		}
		names = append(names, t.Task.Gates...)
	}
	names = append(names, about.AddedNames()...)
	slices.Sort(names)
	return slices.Compact(names)
}
