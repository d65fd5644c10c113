package landing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
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
	// Until is how long the patches wait for tasks that are under way, Window the most that this can be; zero for not at all.
	Until  time.Time
	Window time.Duration
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
	if !s.Baselined() || s.Batches.Free(s.Spec.Project.GatePermits, s.Works) <= 0 || s.Works.RunsAgain() {
		return nil
	}
	waiting := next(s)
	if len(waiting) == 0 {
		return nil
	}
	onto := s.Head
	if n := len(s.Batches.Testing); n > 0 && waiting[0].Part == 0 {
		onto = s.Batches.Testing[n-1].Head
	}
	if set := s.Tasks.Set(waiting[0]); set != nil {
		if actions := review(s, set); len(actions) > 0 {
			return actions
		}
		return landSet(s, onto, set)
	}
	m := Merge{Head: s.Head, Onto: onto, Then: func(c Chain) []run.Action { return merged(s, onto, c) }}
	for _, t := range waiting {
		m.Candidates = append(m.Candidates, candidate(s, t))
	}
	m.Until, m.Window = window(s, waiting)
	return []run.Action{m}
}

// next lists the tasks of the next batch, in plan order; of a change set its first one. Those of a held template wait: its brief
// may be wrong.
func next(s *run.State) []*run.Task {
	waiting := slices.DeleteFunc(slices.Collect(s.Tasks.In(run.TaskAccepted)), func(t *run.Task) bool {
		set := s.Tasks.Set(t)
		lacks := func(t *run.Task) bool { return lacksRed(s, t) }
		incomplete := set != nil && (!set.Complete() || set.Lost != nil || slices.ContainsFunc(set.Members, lacks))
		return incomplete || s.Templates.Held[t] != nil
	})
	search := slices.ContainsFunc(s.Batches.Testing, func(b *run.Batch) bool { return searched(s, b) })
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
	if s.Tasks.Set(waiting[0]) != nil {
		return waiting[:1]
	}
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool { return s.Tasks.Set(t) != nil })
	if part == 0 {
		waiting = oneOfEach(s, waiting[:min(len(waiting), limit(s))])
	}
	return waiting
}

// oneOfEach leaves out all shards but one of each template on which the gates have failed and not passed: that one tells more
// than a batch that fails.
func oneOfEach(s *run.State, waiting []*run.Task) []*run.Task {
	had := map[string]bool{}
	return slices.DeleteFunc(waiting, func(t *run.Task) bool {
		name := t.Task.ShardOf
		more := had[name]
		had[name] = more || s.Templates.Doubted(name)
		return more
	})
}

// searched reports whether a batch is a part of one that failed.
func searched(s *run.State, b *run.Batch) bool { return s.Tasks.ByID[b.Tasks[0].Task].Part != 0 }

func limit(s *run.State) int {
	if s.Spec.Project.Prove == spec.ProveEach {
		return 1
	}
	return batchLimit(s)
}

func candidate(s *run.State, t *run.Task) Candidate {
	role := s.Made(t)
	model := ""
	if role.Executor == spec.ExecutorModel {
		model = s.Spec.Project.ModelName(role.Model)
	}
	c := Candidate{
		Run: s.Spec.Run, Task: t.Task.ID, Title: t.Task.Title, Role: role.Name, Model: model,
		Attempt: t.Attempt, Unverified: acceptance.UnverifiedPatch(s, t),
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
	var actions []run.Action
	for _, k := range chain.Conflicts {
		if k.Waits {
			continue
		}
		actions = append(actions, recovery.Failed(s, s.Tasks.ByID[k.Task], spec.Fault{
			Class:   wire.FaultConflict,
			Message: "it conflicts with what landed before it in " + strings.Join(k.Paths, ", "),
			Detail:  k.Message,
		})...)
	}
	if len(chain.Merged) == 0 {
		return actions
	}
	d := run.LandingData{Batch: s.Batches.Count + 1, Old: onto, Head: chain.Head, Tree: chain.Tree}
	for _, m := range chain.Merged {
		p := s.Tasks.ByID[m.Task].Result.Patch
		d.Tasks = append(d.Tasks, run.Landed{
			Task: m.Task, Attempt: m.Attempt, Commit: m.Landed, Added: p.Added, Deleted: p.Deleted, Files: len(p.Files),
			Unverified: m.Unverified,
		})
	}
	return append(actions, proveOn(s, d)...)
}

// proveOn proposes what a merged chain needs: its gates, or nothing but their verdict where its tree was tested.
func proveOn(s *run.State, d run.LandingData) []run.Action {
	wanted := gates(s, d.Tasks)
	times := 1 // a part of several tasks is cut at once
	flakes := flakesAlone(s, run.ReceiptsOf(s.Proofs.Failed(d.Tree, wanted, d.Old)))
	if flakes || alone(d.Set, d.Tasks) || s.Tasks.ByID[d.Tasks[0].Task].Part == 0 || suspectedOf(s, d) {
		times = maxRuns
	}
	switch {
	case slices.ContainsFunc(s.Batches.Testing, func(b *run.Batch) bool { return b.Tree == d.Tree }):
		return nil // it is being tested
	case d.Old == s.Head && s.Proofs.IsProven(d.Tree, wanted, d.Old):
		d.Receipts = s.Proofs.Receipts(d.Tree, wanted, d.Old)
		return land(s, d)
	case len(d.Tasks) > 1 && d.Set == "" && failsAlone(s, d.Tasks) && d.Old == s.Head:
		return cutAgain(s, d)
	case len(d.Tasks) > 1 && d.Set == "" && d.Old == s.Head && untried(s, run.Names(d.Tasks)) && weighed(s, run.Names(d.Tasks)):
		return oneFirst(s, d, byOdds(run.Names(d.Tasks), known(s, run.Names(d.Tasks))), nil)
	case d.Old == s.Head && s.Proofs.Runs(d.Tree, wanted, d.Old) >= times:
		return red(s, d, s.Proofs.Failed(d.Tree, wanted, d.Old))
	default:
		return []run.Action{test(d, wanted, 1)}
	}
}

// suspectedOf reports whether a batch is all that its own tree, which failed, leads to: that it fails again is the verdict.
func suspectedOf(s *run.State, d run.LandingData) bool {
	return !slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return s.Tasks.ByID[l.Task].Suspected.Tree != d.Tree })
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
		Since: d.Old,
	}
	return run.Assign{Append: run.Append{Data: d}, Dispatch: d.Dispatch}
}

// move advances the integration branch: first the event, which is the truth, then the ref, which follows it.
func move(s *run.State, d run.LandingData) []run.Action {
	d.State, d.Unverified = run.LandingLanded, acceptance.Unverified(s)
	open := func(t *run.Task) bool { return t.Part != 0 }
	ours := func(t *run.Task) bool {
		return slices.ContainsFunc(d.Tasks, func(l run.Landed) bool { return l.Task == t.Task.ID })
	}
	if !slices.ContainsFunc(slices.Collect(s.Tasks.Open()), func(t *run.Task) bool { return open(t) && !ours(t) }) {
		d.Limit = min(mostTasks, 2*batchLimit(s)) // the culprit is out
	}
	return []run.Action{run.Append{Data: d}, run.SyncHead{}}
}

// gates is the union of what the tasks of a batch ask for.
func gates(s *run.State, landed []run.Landed) []string {
	tasks := make([]*run.Task, len(landed))
	for i, l := range landed {
		tasks[i] = s.Tasks.ByID[l.Task]
	}
	return gatesOf(s, tasks)
}

func gatesOf(s *run.State, tasks []*run.Task) []string {
	var names []string
	for _, t := range tasks {
		if len(t.Task.Gates) == 0 {
			return s.Spec.GateNames()
		}
		names = append(names, t.Task.Gates...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
