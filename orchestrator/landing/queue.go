package landing

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Land takes the next batch while a gate permit is free: all waiting patches up to the limit, or a change set. While parts of a
// failed batch are searched for the culprit, they come first. Nothing is tested before the baseline is known, and before a
// passage that is green has ended.
func Land(s *run.State) []run.Action {
	in := factsOf(s)
	if s.ToSeal() {
		return seal(in)
	}
	waiting, _ := next(in)
	if len(waiting) == 0 {
		return nil
	}
	return merge(in, waiting)
}

// Waiting lists the tasks in the landing queue in the order in which they are tested: the parts of a batch that failed come
// first.
func Waiting(s *run.State) []*run.Task {
	waiting := slices.Collect(s.Tasks.In(run.TaskAccepted))
	slices.SortStableFunc(waiting, func(a, b *run.Task) int { return cmp.Compare(a.Part, b.Part) })
	return waiting
}

// Limit is how many tasks the next batch may hold.
func Limit(s *run.State) int { return limit(factsOf(s)) }

// Suspects lists the tasks that may be why a batch failed, the most likely first.
func Suspects(s *run.State) (list []*run.Task) {
	for _, state := range []run.TaskState{run.TaskLanding, run.TaskAccepted} {
		for t := range s.Tasks.In(state) {
			if t.Part != 0 && !t.Suspected.Right {
				list = append(list, t)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *run.Task) int {
		return cmp.Or(cmp.Compare(b.Suspected.Odds, a.Suspected.Odds), run.PlanOrder(a, b))
	})
	return list
}

// Searches reports whether a batch is a part of one that failed.
func Searches(s *run.State, b *run.Batch) bool { return isPart(factsOf(s), b.Tasks) }

// Idle returns why no batch is made of the patches that wait, in words; "" where one can be made, and where no patch waits.
func Idle(s *run.State) string {
	waiting := slices.Collect(s.Tasks.In(run.TaskAccepted))
	if len(waiting) == 0 {
		return ""
	}
	batch, why := next(factsOf(s))
	has := func(of func(*run.Task) bool) bool { return slices.ContainsFunc(waiting, of) }
	switch {
	case why != "" || len(batch) > 0:
		return why
	case has(func(t *run.Task) bool { return s.Templates.Held[t] != nil }):
		return "a template is held"
	case has(func(t *run.Task) bool { return s.Tasks.Set(t) != nil }):
		return "a change set is not complete"
	}
	return "a part of a batch that failed is tested first"
}

// Due lists the tasks whose patches land next where nothing speaks against them: those of a batch whose gates have ended well,
// else those that the next batch is made of.
func Due(s *run.State) (due []*run.Task, batch *run.Batch) {
	in := factsOf(s)
	for _, b := range in.batches.Testing {
		if r := in.works.Tested(b); r != nil && r.Status == spec.StatusDone && b.Old == in.head {
			return tasksOf(in, landingOf(b)), b
		}
	}
	due, _ = next(in)
	return due, nil
}

// ParkSets parks the tasks of a change set when one of them was given up. An agent that is at work ends before, and what is asked
// about the patch of one is answered before. The task that was given up has the cause. What waits for a passage in vain is parked
// in the same way.
func ParkSets(s *run.State) []run.Action {
	actions := parkOutside(factsOf(s))
	if len(actions) > 0 {
		return actions
	}
	asked := func(t *run.Task) bool { d := t.Doubt(); return d != nil && !d.Review }
	for t := range s.Tasks.Open() {
		set := s.Tasks.Set(t)
		if set == nil || set.Lost == nil || !slices.Contains(parkable, t.State) || slices.ContainsFunc(set.Members, asked) {
			continue
		}
		actions = append(actions, recovery.Park(&s.Spec, t, fmt.Sprintf("its change set %s was parked because %s is %s",
			set.Name, set.Lost.Task.ID, set.Lost.State), nil)...)
	}
	return actions
}

// parkable are the states that a task of a given up change set is parked from.
var parkable = []run.TaskState{run.TaskPending, run.TaskHeld, run.TaskAccepted}

// next lists the tasks of the next batch, in plan order; all of a change set. Those of a held template wait: its brief may be
// wrong. why is what blocks any batch.
func next(in facts) (batch []*run.Task, why string) {
	if why := blockedBy(in); why != "" {
		return nil, why
	}
	open := map[int]bool{}
	passing := in.state.Passing()
	waiting := slices.DeleteFunc(slices.Collect(in.tasks.In(run.TaskAccepted)), func(t *run.Task) bool {
		set := in.tasks.Set(t)
		unproven := func(t *run.Task) bool { return awaitsRed(in, t) }
		if t.Part == 0 && incompleteRound(in, t, open) {
			return true
		}
		incomplete := set != nil && (!set.Complete() || set.Lost != nil || slices.ContainsFunc(set.Members, unproven))
		outside := in.batches.Passage != nil && !passing[t]
		return incomplete || set == nil && awaitsRed(in, t) || in.templates.Held[t] != nil || outside
	})
	search := slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return isPart(in, b.Tasks) })
	// What the part under test tells decides what becomes of those that were left out of it.
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool { return search && t.Suspected.Out })
	if len(waiting) == 0 {
		return nil, ""
	}
	part := slices.MinFunc(waiting, func(a, b *run.Task) int { return cmp.Compare(a.Part, b.Part) }).Part
	if part == 0 && search {
		return nil, ""
	}
	waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool { return t.Part != part })
	first, set := waiting[0].Task, in.tasks.Set(waiting[0])
	if set != nil {
		waiting = set.Members
	} else {
		waiting = slices.DeleteFunc(waiting, func(t *run.Task) bool {
			return in.tasks.Set(t) != nil || !slices.Equal(t.Task.Mends, first.Mends) ||
				!slices.Equal(t.Task.Through, first.Through)
		})
	}
	// A batch that mends or leads through red gates, and one after it, are compared with what lands before.
	apart := func(b *run.Batch) bool { return len(b.Mends)+len(b.Through) > 0 }
	mends := mendsOf(waiting)
	switch {
	case len(in.batches.Testing) > 0 && len(mends)+len(throughOf(in, waiting, mends)) > 0 ||
		slices.ContainsFunc(in.batches.Testing, apart):
		return nil, ""
	case set == nil && part == 0 && waiting[0].Task.InRound() && in.spec.Project.Prove != spec.ProveEach:
		waiting = waiting[:min(len(waiting), mostTasks)] // the tasks of a round are one batch
	case set == nil && part == 0:
		waiting = oneOfEach(in, waiting[:min(len(waiting), limit(in))])
	}
	return waiting, ""
}

// incompleteRound reports whether other tasks of a task's round are under way: all of them are tested as one batch. A patch
// that waits for a decision is not waited for, unless a person is to see all of them. open has the answers by plan.
func incompleteRound(in facts, t *run.Task, open map[int]bool) bool {
	if !t.Task.InRound() {
		return false
	}
	answer, known := open[t.Plan]
	if !known {
		answer = slices.ContainsFunc(in.agenda.Plans.All[t.Plan].Tasks, func(o spec.Task) bool {
			other := in.tasks.ByID[o.ID]
			return other != nil && slices.Contains(underWayStates, other.State) && (other.State != run.TaskHeld || in.spec.Review)
		})
		open[t.Plan] = answer
	}
	return answer
}

var underWayStates = []run.TaskState{run.TaskPending, run.TaskRunning, run.TaskVerifying, run.TaskHeld}

// oneOfEach leaves out all shards but one of each template on which the gates have failed and not passed: that one tells more
// than a batch that fails.
func oneOfEach(in facts, waiting []*run.Task) []*run.Task {
	had := map[string]bool{}
	return slices.DeleteFunc(waiting, func(t *run.Task) bool {
		name := t.Task.ShardOf
		more := had[name]
		had[name] = more || in.templates.Doubted(name)
		return more
	})
}

// blockedBy returns why nothing can be tested now, whatever waits; "" where it can.
func blockedBy(in facts) string {
	switch {
	case !in.isBaselined:
		return "the gates have not run on the base commit"
	case in.works.RunsAgain():
		return "the gates run on the base commit once more"
	case in.works[run.HeadTask].Outstanding():
		return "the gates run on the integration head"
	case slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return !b.Until.IsZero() }):
		return "a batch waits for a service of its gates"
	case in.batches.Free(in.crew.Permits(in.spec.Project.GatePermits), in.works) <= 0:
		return "as many batches are tested as may be at once"
	}
	return ""
}
