package plan

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// closedSets finds tasks of change sets that take no more.
func closedSets(p spec.Plan, st *run.State) []spec.Problem {
	var out []spec.Problem
	for i := range p.Tasks {
		if why := st.Why(p.Tasks[i].Set()); why != "" {
			out = append(out, spec.Problem{Path: fmt.Sprintf("tasks[%d].change_set", i), Message: fmt.Sprintf(
				"no task can be added to change set %s: %s", p.Tasks[i].Set(), why)})
		}
	}
	return out
}

// overlapInSets finds tasks of one change set that may write the same file: they would take turns, and none of them lands before
// the others.
func overlapInSets(tasks, had []spec.Task) []spec.Problem {
	sets := map[string][]spec.Task{}
	for _, t := range tasks {
		if t.ChangeSet != "" {
			sets[t.ChangeSet] = nil
		}
	}
	for _, list := range [][]spec.Task{had, tasks} {
		for _, t := range list {
			if _, wanted := sets[t.ChangeSet]; wanted {
				sets[t.ChangeSet] = append(sets[t.ChangeSet], t)
			}
		}
	}
	var out []spec.Problem
	for _, t := range tasks {
		members := sets[t.ChangeSet]
		delete(sets, t.ChangeSet)
		for _, o := range Overlaps(members, maxOverlaps) {
			out = append(out, spec.Problem{Path: "tasks", Message: fmt.Sprintf(
				"%s and %s of change set %s may both write %s: give each file to one of them", o.A, o.B, t.ChangeSet, o.Path)})
		}
	}
	return out
}
