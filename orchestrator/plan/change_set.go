package plan

import (
	"cmp"
	"fmt"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// closedSets finds tasks of change sets that take no more, or not this one. Those that were given up are opened with a run that
// is tried again.
func closedSets(p spec.Plan, tasks *run.Tasks, again bool) []spec.Problem {
	var out []spec.Problem
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if again && tasks.Sets[t.Set()].GivenUp() {
			continue
		}
		if why := cmp.Or(tasks.Sets[t.Set()].Closed(), late(tasks, t)); why != "" {
			out = append(out, spec.Problem{Path: fmt.Sprintf("tasks[%d].change_set", i), Message: fmt.Sprintf(
				"no task can be added to change set %s: %s", t.Set(), why)})
		}
	}
	return out
}

// late returns why a task cannot be added to a set at work; "" where it can. Such a set holds its files: what a new task waits
// for must never wait for them.
func late(tasks *run.Tasks, t *spec.Task) string {
	if t.Set() == "" || !tasks.Sets[t.Set()].HasBegun() {
		return ""
	}
	for _, ref := range t.Dependencies() {
		if met, _, _ := tasks.Depends(ref); !met {
			return fmt.Sprintf("it has begun, and %s, which %s waits for, has not ended", ref, t.ID)
		}
	}
	for o := range tasks.Open() {
		set := o.Task.Set()
		if set == t.Set() || o.Parent == "" && !tasks.Sets[set].HasBegun() {
			continue
		}
		if at, meet := spec.Intersect(o.Task.Files, t.Files); meet {
			return fmt.Sprintf("it has begun, and %s may write %s: add %s when that one has ended", o.Task.ID, at, t.ID)
		}
	}
	return ""
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
