package request

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// edits are a person's edits in the plan file since the run read it, for the tasks that are tried again, where r does not say it;
// more are the tasks with an edit that wait for their first attempt. The error is a *RefusedError.
func edits(
	agenda *run.Agenda, ids []string, edited *spec.Plan, r run.Revision,
) (own map[string]run.Revision, more []string, err error) {
	if edited == nil || agenda.Spec.Plan == nil {
		return nil, nil, nil
	}
	own = map[string]run.Revision{}
	was, now := agenda.Spec.Plan.WithRoleInputs(agenda.Spec.Roles), edited.WithRoleInputs(agenda.Spec.Roles)
	for _, id := range ids {
		own[id] = editedTask(&agenda.Spec, agenda.Tasks.ByID[id], &was, &now, r)
	}
	for t := range agenda.Tasks.In(run.TaskPending) {
		if o := editedTask(&agenda.Spec, t, &was, &now, run.Revision{By: r.By}); t.Attempt == 0 && o.Changes() {
			own[t.Task.ID], more = o, append(more, t.Task.ID)
		}
	}
	for id, o := range own {
		if o.Files != nil {
			if why := meets(&agenda.Tasks, agenda.Tasks.ByID[id], *o.Files); why != "" {
				return nil, nil, Refusedf("the edited plan: %s", why)
			}
		}
	}
	return own, more, nil
}

// editedTask adds to a revision what a person has edited of a task since the run read the plan file: brief, role, command,
// constraints, what it waits for, what it may make and leave, and files, which a shard has by its rule.
func editedTask(order *run.Spec, t *run.Task, before, after *spec.Plan, r run.Revision) run.Revision {
	find := func(p *spec.Plan) (out spec.Task, found bool) {
		at := slices.IndexFunc(p.Tasks, func(o spec.Task) bool { return o.ID == cmp.Or(t.Task.ShardOf, t.Task.ID) })
		if at >= 0 {
			out = p.Tasks[at]
			out.Constraints = slices.Concat(p.Constraints, out.Constraints)
			if out.Inputs == nil {
				out.Inputs = out.DependsOn
			}
		}
		return out, at >= 0
	}
	was, had := find(before)
	now, has := find(after)
	if !had || !has {
		return r
	}
	if r.Brief == "" && now.Brief != was.Brief {
		r.Brief = now.Brief
	}
	if r.Role == "" && now.Role != was.Role {
		r.Role = now.Role
	}
	for _, list := range []struct {
		now, was []string
		of       **[]string
	}{
		{now.Constraints, was.Constraints, &r.Constraints},
		{now.Command, was.Command, &r.Command},
		{now.DependsOn, was.DependsOn, &r.DependsOn},
		{now.Inputs, was.Inputs, &r.Inputs},
		{now.Creates, was.Creates, &r.Creates},
	} {
		if !slices.Equal(list.now, list.was) {
			whole := append([]string{}, list.now...) // none is not the same as unset
			*list.of = &whole
		}
	}
	if now.Remaining != was.Remaining {
		r.Remaining = &now.Remaining
	}
	if now.Shard == nil && !slices.Equal(now.Files, was.Files) {
		r.Files, r.Unlocked = &now.Files, spec.Unlocks(now.Files, order.Project.Protected)
	}
	return r
}

// waitsInVain returns why a task would never begin with what an edit has it wait for: an unknown task, one that waits for
// it, or one that its change set, which is at work and keeps its files, must not wait for; "" where each can. gained are the
// tasks that are added.
func waitsInVain(agenda *run.Agenda, own map[string]run.Revision, gained []spec.Task) string {
	maps.DeleteFunc(own, func(_ string, r run.Revision) bool { return r.DependsOn == nil && r.Inputs == nil })
	if len(own) == 0 {
		return ""
	}
	tasks, node := waiting(&agenda.Tasks, own, gained)
	for _, id := range slices.Sorted(maps.Keys(own)) {
		t, r := agenda.Tasks.ByID[id], own[id]
		now := r.Order(t.Task)
		for _, ref := range now.Dependencies() {
			met, _, known := agenda.Tasks.Depends(ref)
			switch {
			case !known && node[ref] == "":
				return fmt.Sprintf("%s depends on %s, which has no task in run %s", id, ref, agenda.Spec.Run)
			case node[ref] == node[id]:
				return fmt.Sprintf("%s depends on %s of the same change set, which lands with it", id, ref)
			case !met && !slices.Contains(t.After, ref) && agenda.Tasks.Set(t).HasBegun():
				return fmt.Sprintf("%s cannot wait for %s: its change set %s has begun, and keeps its files until it has landed",
					id, ref, t.Task.ChangeSet)
			}
		}
	}
	for _, circle := range spec.Circles(tasks) {
		return "the tasks wait for each other in a circle: " + strings.Join(circle, " -> ")
	}
	return ""
}

// waiting are the tasks of a run that have not ended well, each with what it waits for, and those that are added. A template,
// and a change set, which lands as one, are one task of it; node is the one that a reference means.
func waiting(all *run.Tasks, own map[string]run.Revision, gained []spec.Task) (tasks []spec.Task, node map[string]string) {
	open := slices.Clone(gained)
	for _, id := range all.Order {
		if t, r := all.ByID[id], own[id]; !kept(t) {
			open = append(open, r.Order(t.Task))
		}
	}
	node = map[string]string{}
	for _, t := range open {
		node[t.ID] = cmp.Or(t.ShardOf, t.ID)
		if t.ChangeSet != "" {
			node[t.ID] = "change set " + t.ChangeSet
		}
		node[cmp.Or(t.ShardOf, t.ID)] = node[t.ID]
	}
	at := map[string]int{}
	for _, t := range open {
		name := node[t.ID]
		if _, had := at[name]; !had {
			at[name], tasks = len(tasks), append(tasks, spec.Task{ID: name})
		}
		for _, ref := range t.Dependencies() {
			tasks[at[name]].DependsOn = append(tasks[at[name]].DependsOn, cmp.Or(node[ref], ref))
		}
	}
	return tasks, node
}
