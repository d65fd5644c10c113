package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// isLater reports whether a template of a plan expands later: it has findings for shards, or waits for a task that may land a
// change. One that shares a change set with other tasks expands with them.
func isLater(p *spec.Plan, t *spec.Task, agenda *run.Agenda, m *mending) bool {
	switch {
	case t.ByFindings(), m != nil && m.later[t.ID]:
		return true
	case t.ChangeSet != "" && t.ChangeSet != t.ID:
		return false
	}
	seen := map[string]bool{}
	var changes func(refs []string) bool
	changes = func(refs []string) bool {
		return slices.ContainsFunc(refs, func(ref string) bool {
			if seen[ref] {
				return false
			}
			seen[ref] = true
			if i := slices.IndexFunc(p.Tasks, func(o spec.Task) bool { return o.ID == ref }); i >= 0 {
				role := agenda.Spec.Roles[p.Tasks[i].Role]
				return role.ChangesFiles() || changes(p.Tasks[i].Dependencies())
			}
			return slices.ContainsFunc(agenda.Tasks.Members(ref), func(id string) bool {
				o := agenda.Tasks.ByID[id]
				role := agenda.Spec.Roles[o.Task.Role]
				return !o.Ended() && (role.ChangesFiles() || changes(o.After))
			})
		})
	}
	return changes(t.Dependencies())
}

// later keeps a template for later, with what it would expand to now: a command runs only when its time has come.
func (x *Expansion) later(ctx context.Context, t spec.Task, agenda *run.Agenda, tree Tree) error {
	if t.ChangeSet != "" {
		t.ChangeSet, t.Together = "", true
	}
	l, now := run.Later{Task: t}, Expansion{}
	var note string
	switch t.Shard.By {
	case spec.ByFinding:
		note = fmt.Sprintf("%s expands once a round, to the findings of gate %s then", t.ID, strings.Join(t.Mends, ", "))
	case "command":
		note = t.ID + " expands when what it depends on has landed: its command runs then"
	default:
		problem, err := now.template(ctx, shared(t), agenda, tree, nil)
		if err != nil {
			return err
		}
		note = fmt.Sprintf("%s expands when what it depends on has landed; now it would be %s", t.ID,
			text.Count(len(now.Tasks), "task"))
		if problem != nil {
			note = fmt.Sprintf("%s expands when what it depends on has landed; now it %s", t.ID, problem.Message)
		}
		complete(now.Tasks, &agenda.Spec)
		l.Ceiling = Ceiling(now.Tasks, agenda.Spec.Roles, agenda.Spec.Project)
	}
	x.Later, x.foreseen, x.Notes = append(x.Later, l), append(x.foreseen, now.Tasks...), append(x.Notes, note)
	return nil
}

// shared is a template whose shards have their change set.
func shared(t spec.Task) spec.Task {
	t.ChangeSet, t.Together = t.Set(), false
	return t
}

// Expand expands a template whose time has come, over a tree; get returns an object. A problem is why it cannot be. Without a
// shard there is nothing to do.
func Expand(
	ctx context.Context, e run.Expand, agenda *run.Agenda, works run.Works, tree Tree,
	get func(ctx context.Context, name string) ([]byte, error),
) (data run.PlanData, problems []spec.Problem, err error) {
	t := e.Template
	if e.Round != nil {
		return expandRound(ctx, e, agenda, works, tree, get)
	}
	x, of := Expansion{due: true}, &agenda.Plans.All[t.Plan]
	problem, err := x.template(ctx, shared(t.Task), agenda, tree, nil)
	switch {
	case err != nil:
		return data, nil, err
	case problem != nil && !problem.Done:
		return data, []spec.Problem{*problem}, nil
	case problem != nil:
		x.Notes = append(x.Notes, t.Task.ID+": nothing is left to do: it "+problem.Message)
	}
	if data, problems, err = x.data(ctx, of.DecisionRecord, agenda.Tasks.Planned(), agenda, works, tree); err == nil {
		data.By, data.Expands, data.Beyond = of.By, t.Task.ID, beyond(&data, t, agenda)
	}
	return data, problems, err
}

// beyond reports whether the shards of a template may use more than its plan said: by command and by finding it said nothing.
func beyond(d *run.PlanData, t *run.Task, agenda *run.Agenda) bool {
	said := t.Task.Shard.By != "command" && !t.Task.ByFindings()
	return d.Ceiling > agenda.Plans.CeilingOf(t) || !said && d.Likely != nil
}
