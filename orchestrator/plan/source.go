package plan

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Source returns a plan of the master as it, or the person who edited it, wrote it, before templates were expanded: with what was
// revised since, and without tasks that were cancelled. A log that has lost the master's result has only the expanded plan.
func Source(agenda *run.Agenda, works run.Works, at int) spec.Plan {
	p := written(&agenda.Plans, works, at)
	tasks := p.Tasks
	p.Tasks = nil
	for _, t := range tasks {
		if t, left := revised(&agenda.Tasks, t); left {
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p
}

func written(plans *run.Plans, works run.Works, at int) spec.Plan {
	d := &plans.All[at]
	if d.Edited != nil {
		return *d.Edited
	}
	task, n, _ := run.SplitAgent(d.By)
	if a := works.Attempt(task, n); a != nil && a.Result != nil && a.Result.Plan != nil {
		return *a.Result.Plan
	}
	p := spec.Plan{DecisionRecord: d.DecisionRecord, Tasks: slices.Clone(d.Tasks)}
	for _, l := range d.Later {
		p.Tasks = append(p.Tasks, l.Task)
	}
	return p
}

// revised returns a task as it was revised; of a template, as its first shard was. left is false for one that was cancelled.
func revised(tasks *run.Tasks, t spec.Task) (_ spec.Task, left bool) {
	for _, id := range tasks.Members(t.ID) {
		m := tasks.ByID[id]
		if m.State == run.TaskCancelled {
			continue
		}
		for _, r := range m.Revisions {
			t.Brief, t.Role = r.Revise(t.Brief), cmp.Or(r.Role, t.Role)
			if r.Files != nil {
				t.Files = *r.Files
			}
			if r.Constraints != nil {
				t.Constraints = *r.Constraints
			}
		}
		return t, true
	}
	return t, false
}

// File returns a plan that waits for approval as the plan file of another run: its tasks that change files, and the tasks that
// these depend on, of the master's earlier plans too. Where several plans contribute, each task has the constraints of its own.
func File(agenda *run.Agenda, works run.Works, at int) spec.Plan {
	plans := sources(agenda, works, at)
	needed := map[string]bool{}
	for i := range plans[len(plans)-1].Tasks {
		t := &plans[len(plans)-1].Tasks[i]
		role := agenda.Spec.Roles[t.Role]
		needed[t.ID] = role.ChangesFiles()
	}
	for _, p := range slices.Backward(plans) {
		need(p.Tasks, needed)
	}
	for i := range plans {
		plans[i].Tasks = slices.DeleteFunc(slices.Clone(plans[i].Tasks), func(t spec.Task) bool { return !needed[t.ID] })
	}
	return joined(agenda.Spec.Goal, plans)
}

// Whole returns all plans of the master as one plan file, also where they only read.
func Whole(agenda *run.Agenda, works run.Works) spec.Plan {
	return joined(agenda.Spec.Goal, sources(agenda, works, len(agenda.Plans.All)-1))
}

// sources are the master's plans up to one of them.
func sources(agenda *run.Agenda, works run.Works, at int) (plans []spec.Plan) {
	for i := range agenda.Plans.All[:at+1] {
		if p := &agenda.Plans.All[i]; p.Request == "" && p.Follows == "" && p.Expands == "" {
			plans = append(plans, Source(agenda, works, i).WithRoleInputs(agenda.Spec.Roles))
		}
	}
	return plans
}

// need marks the tasks that a marked task depends on, directly or through others.
func need(tasks []spec.Task, needed map[string]bool) {
	for more := true; more; {
		more = false
		for i := range tasks {
			if !needed[tasks[i].ID] {
				continue
			}
			for _, id := range tasks[i].Dependencies() {
				more, needed[id] = more || !needed[id], true
			}
		}
	}
}

// joined is one plan of those that have tasks.
func joined(goal string, plans []spec.Plan) (out spec.Plan) {
	parts := slices.DeleteFunc(plans, func(p spec.Plan) bool { return len(p.Tasks) == 0 })
	if len(parts) > 0 {
		out = parts[len(parts)-1]
	}
	out.Goal = cmp.Or(out.Goal, goal)
	if len(parts) < 2 {
		return out
	}
	out.Constraints, out.Mends, out.Tasks = nil, nil, nil
	var records []string
	for _, p := range parts {
		if p.DecisionRecord != "" && !slices.Contains(records, p.DecisionRecord) {
			records = append(records, p.DecisionRecord)
		}
		for _, t := range p.WithMends().Tasks {
			t.Constraints = slices.Concat(p.Constraints, t.Constraints)
			out.Tasks = append(out.Tasks, t)
		}
	}
	out.DecisionRecord = strings.Join(records, "\n\n")
	return out
}
