package landing

import (
	"cmp"
	"slices"

	"divisi/orchestrator/run"
)

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
func Searches(s *run.State, b *run.Batch) bool { return searched(&s.Tasks, b) }

// Idle returns why no batch is made of the patches that wait, in words; "" where one can be made, and where no patch waits.
func Idle(s *run.State) string {
	waiting := slices.Collect(s.Tasks.In(run.TaskAccepted))
	if len(waiting) == 0 {
		return ""
	}
	in := factsOf(s)
	if why := barred(in, s.Baselined()); why != "" || len(next(in)) > 0 {
		return why
	}
	isHeld := func(t *run.Task) bool { return s.Templates.Held[t] != nil }
	if slices.ContainsFunc(waiting, isHeld) {
		return "a template is held"
	}
	if slices.ContainsFunc(waiting, func(t *run.Task) bool { return s.Tasks.Set(t) != nil }) {
		return "a change set is not complete"
	}
	return "a part of a batch that failed is tested first"
}

// barred returns why nothing can be tested now, whatever waits; "" where it can.
func barred(in facts, baselined bool) string {
	switch {
	case !baselined:
		return "the gates have not run on the base commit"
	case in.works.RunsAgain():
		return "the gates run on the base commit once more"
	case in.works[run.HeadTask].Outstanding():
		return "the gates run on the integration head"
	case slices.ContainsFunc(in.batches.Testing, func(b *run.Batch) bool { return !b.Until.IsZero() }):
		return "a batch waits for what its gates need"
	case in.batches.Free(in.crew.Permits(in.spec.Project.GatePermits), in.works) <= 0:
		return "as many batches are tested as may be at once"
	}
	return ""
}
