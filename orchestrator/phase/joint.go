package phase

import (
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// joint has shards that were parked one by one tested as one change set, once: those of a template whose commands would do the
// same again, and whose gates failed in files of each other. A rename of a function and of its callers is right only as a
// whole.
func joint(s *run.State) (actions []run.Action) {
	if s.Spec.Plan == nil {
		return nil // a master reads the reasons, and plans the set itself
	}
	for _, set := range linked(aloneRed(s)) {
		ids := make([]string, len(set))
		for i, t := range set {
			ids[i] = t.Task.ID
		}
		why := text.Some(ids, maxNamed) + " fail in files of each other: they are tested as one"
		actions = append(actions, run.Append{Data: run.PlanData{
			By: run.ByFile, Joins: map[string][]string{ids[0]: ids}, Notes: []string{why},
		}})
		for _, id := range ids {
			actions = append(actions, run.SetTask(id, run.TaskData{State: run.TaskAccepted, Reason: why}))
		}
	}
	return actions
}

// aloneRed are the parked shards outside of change sets whose patch was red, and whose command would do the same again.
func aloneRed(s *run.State) (red []*run.Task) {
	for t := range s.Tasks.All() {
		n := len(t.Faults)
		if t.State == run.TaskParked && t.Task.ShardOf != "" && t.Task.ChangeSet == "" && n > 0 &&
			t.Faults[n-1].Attempt == t.Attempt && t.Faults[n-1].Fault.Class == wire.FaultGate && len(t.Changes()) > 0 &&
			t.Undecided() == nil && recovery.Repeats(&s.Spec, s.Works, t) {
			red = append(red, t)
		}
	}
	return red
}

// linked are groups of tasks of one template: each fails in a file of another one, or another one in a file of it.
func linked(tasks []*run.Task) (groups [][]*run.Task) {
	owner, of := map[[2]string]int{}, make([]int, len(tasks))
	for i, t := range tasks {
		for _, file := range t.Changes() {
			owner[[2]string{t.Task.ShardOf, file}] = i
		}
		of[i] = i
	}
	for i, t := range tasks {
		for _, file := range failsAt(t) {
			if other, is := owner[[2]string{t.Task.ShardOf, file}]; is {
				join(of, i, other)
			}
		}
	}
	for first := range tasks {
		var group []*run.Task
		for i, t := range tasks {
			if of[i] == first {
				group = append(group, t)
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}

// join makes one group of two, which are named by their first member.
func join(of []int, a, b int) {
	from, to := max(of[a], of[b]), min(of[a], of[b])
	for k := range of {
		if of[k] == from {
			of[k] = to
		}
	}
}

// failsAt are the words of a task's newest failures that can be files.
func failsAt(t *run.Task) (files []string) {
	for _, signature := range t.Faults[len(t.Faults)-1].Fault.Signatures {
		for word := range strings.FieldsSeq(signature) {
			file, _, _ := strings.Cut(word, ":")
			files = append(files, file)
		}
	}
	return files
}
