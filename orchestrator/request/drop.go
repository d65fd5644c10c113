package request

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Landed are tasks that can be dropped together, and the commits around theirs: Head is the last one, Old that before the first.
type Landed struct {
	Tasks     []string
	Old, Head string
}

// Droppable returns what goes out with a landed task: it, or its whole change set. The error is a *RefusedError, also where tasks
// stand on it that have not been dropped.
func Droppable(agenda *run.Agenda, batches *run.Batches, id string) (l Landed, err error) {
	t := agenda.Tasks.ByID[id]
	if t == nil {
		return l, unknown(agenda, id)
	}
	if err := lasting(agenda); err != nil {
		return l, err
	}
	if t.Drops != nil {
		return l, Refusedf("%s: add another task to restore it", onlyDrops(t))
	}
	if by := agenda.Tasks.Dropping(id); by != nil && t.State == run.TaskLanded {
		return l, Refusedf("%s drops %s already, and is %s: skip that one first to drop it again", by.Task.ID, id, by.State)
	}
	if t.State != run.TaskLanded {
		return l, Refusedf("%s is %s: only landed tasks can be dropped", id, t.State)
	}
	if l.Tasks, l.Old, l.Head = batches.LandedWith(t, agenda.Spec.Base); len(l.Tasks) == 0 {
		return l, Refusedf("%s has no commit on the branch", id)
	}
	if on := dependents(&agenda.Tasks, l.Tasks); len(on) > 0 {
		return l, Refusedf("%s depends on %s: first drop the landed ones of these, and skip the others",
			text.Some(on, maxDependents), id)
	}
	return l, nil
}

// maxDependents bounds the tasks that a refusal names.
const maxDependents = 8

// dependents are the tasks outside a group that have landed or may still land, and that stand on one of it, also through others.
func dependents(tasks *run.Tasks, group []string) (out []string) {
	under := slices.Clone(group)
	for i := 0; i < len(under); i++ {
		for _, id := range tasks.Order {
			t := tasks.ByID[id]
			ended := t.Ended() && t.State != run.TaskLanded && t.State != run.TaskDone
			if ended || slices.Contains(under, id) || !standsOn(t, tasks.ByID[under[i]]) {
				continue
			}
			if under = append(under, id); t.State != run.TaskDone {
				out = append(out, id)
			}
		}
	}
	return out
}

// standsOn reports whether a task depends on another one or its template, or has an agent that had the other one done.
func standsOn(t, other *run.Task) bool {
	template := other.Task.ShardOf
	return slices.Contains(t.After, other.Task.ID) || template != "" && slices.Contains(t.After, template) ||
		other.Parent == t.Task.ID
}

// Drop makes the patch that undoes what a task has landed a task of its own, which takes it out when it lands; by is the person
// who asked for it. It opens the run where that has ended. The error is a *RefusedError.
func Drop(
	agenda *run.Agenda, batches *run.Batches, id string, p *spec.Patch, reason, by string,
) (actions []run.Action, outcome string, err error) {
	l, err := Droppable(agenda, batches, id)
	if err != nil {
		return nil, "", err
	}
	of := agenda.Tasks.ByID[id].Task
	if p == nil || p.Base != l.Head {
		return nil, "", Refusedf("the patch does not begin at %s, the commit of %s", l.Head, id)
	}
	task := spec.Task{
		ID: dropID(&agenda.Tasks, id), Title: text.Line(strings.TrimSuffix("take out "+id+": "+of.Title, ": ")),
		Role: of.Role, Files: p.Files, Unlocked: spec.Unlocks(p.Files, agenda.Spec.Project.Protected), Brief: reason,
	}
	d := run.PlanData{By: by, Tasks: []spec.Task{task}, Drop: &run.Drop{Tasks: l.Tasks, Patch: p}}
	outcome = task.ID + " takes out " + text.Some(l.Tasks, maxDependents)
	return append(reopen(agenda, "a person drops "+id), run.Append{Data: d}), outcome, nil
}

// onlyDrops tells why only the patch of a person can become of a task that takes others out: an agent could change anything else,
// and they would count as dropped.
func onlyDrops(t *run.Task) string {
	return fmt.Sprintf("%s takes %s out, with the patch that undoes it, and has no agent",
		t.Task.ID, text.Some(t.Drops, maxDependents))
}

// maxDropID bounds how much of a task's id the one that takes it out has in its own, which has at most 64 bytes.
const maxDropID = 50

// dropID is an id that no task has.
func dropID(tasks *run.Tasks, id string) string {
	stem := "drop-" + id[:min(len(id), maxDropID)]
	out := stem
	for n := 2; len(tasks.Members(out)) > 0; n++ {
		out = fmt.Sprintf("%s-%d", stem, n)
	}
	return out
}
