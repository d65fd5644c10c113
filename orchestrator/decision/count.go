package decision

import (
	"slices"

	"divisi/orchestrator/run"
)

// Count sets how many tasks wait for each of some decisions, and sorts them: what blocks most comes first.
func Count(s *run.State, list []run.Decision) {
	for i := range list {
		list[i].Blocks = blocks(s, &list[i])
	}
	slices.SortStableFunc(list, func(a, b run.Decision) int { return b.Blocks - a.Blocks })
}

// blocks counts the open tasks that cannot go on before a decision: those that it is about, and what depends on them.
func blocks(s *run.State, d *run.Decision) int {
	waits := map[string]bool{}
	for t := range s.Tasks.Open() {
		if wait := of(d.Kind).waits; wait != nil {
			waits[t.Task.ID] = wait(s, d, t)
		} else {
			waits[t.Task.ID] = t.Task.ID == d.About || slices.Contains(d.Tasks, t.Task.ID)
		}
	}
	on := func(ref string) bool {
		return slices.ContainsFunc(s.Tasks.Members(ref), func(id string) bool { return waits[id] })
	}
	for more := true; more; {
		more = false
		for t := range s.Tasks.Open() {
			if !waits[t.Task.ID] && slices.ContainsFunc(t.After, on) {
				waits[t.Task.ID], more = true, true
			}
		}
	}
	n := 0
	for _, wait := range waits {
		if wait {
			n++
		}
	}
	return n
}
