package decision

import (
	"slices"

	"divisi/orchestrator/run"
)

// Count sets how many tasks wait for each of some decisions, and sorts them: what blocks most comes first.
func Count(agenda *run.Agenda, list []run.Decision) {
	for i := range list {
		list[i].Blocks = blocks(agenda, &list[i])
	}
	slices.SortStableFunc(list, func(a, b run.Decision) int { return b.Blocks - a.Blocks })
}

// blocks counts the open tasks that cannot continue before a decision: those that it is about, and what depends on them.
func blocks(agenda *run.Agenda, d *run.Decision) int {
	waits := map[string]bool{}
	for t := range agenda.Tasks.Open() {
		if wait := of(d.Kind).waits; wait != nil {
			waits[t.Task.ID] = wait(&agenda.Templates, d, t)
		} else {
			waits[t.Task.ID] = t.Task.ID == d.About || slices.Contains(d.Tasks, t.Task.ID)
		}
	}
	on := func(ref string) bool {
		return slices.ContainsFunc(agenda.Tasks.Members(ref), func(id string) bool { return waits[id] })
	}
	for more := true; more; {
		more = false
		for t := range agenda.Tasks.Open() {
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
