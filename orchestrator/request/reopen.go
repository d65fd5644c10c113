package request

import (
	"cmp"
	"maps"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Retry opens tasks again that were given up, with new attempts: those that are named, by their ids or their template, else all
// planned ones that are parked. With them it opens the tasks that were given up only because of them, and the run where it has
// ended. What a person has edited since in the run's plan file, which may be nil, revises them where r does not, and the tasks
// that have not begun; gained are the tasks that it has more, which may be what a change set lacked. Of all that are parked, what
// was handed in by tasks that were given up for another one's cause is tested again as it is. It returns the ids of the tasks
// that it was asked for and that begin again; the error is a *RefusedError.
func Retry(
	agenda *run.Agenda, works run.Works, refs []string, r run.Revision, edited *spec.Plan, gained run.PlanData,
) ([]run.Action, []string, error) {
	ids, err := retried(agenda, refs, gained.Adds())
	if err != nil {
		return nil, nil, err
	}
	own, more, err := edits(agenda, ids, edited, r)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range slices.Concat(ids, more) {
		o := own[id]
		o.Role = cmp.Or(o.Role, r.Role)
		if why := unfit(&agenda.Spec, agenda.Tasks.ByID[id], &o); why != "" {
			return nil, nil, Refusedf("%s", why)
		}
	}
	if why := waitsInVain(agenda, maps.Clone(own), gained.Tasks); why != "" {
		return nil, nil, Refusedf("the edited plan: %s", why)
	}
	actions := reopen(agenda, tried(&r))
	if gained.Adds() {
		actions = append(actions, run.Append{Data: gained})
	}
	ids, tested := byCause(&agenda.Tasks, ids, own, len(refs) > 0 || r.Changes())
	for _, id := range tested {
		actions = append(actions, run.SetTask(id, reopened(agenda.Tasks.ByID[id], &run.Revision{By: r.By})))
	}
	return append(actions, begin(&agenda.Tasks, works, slices.Concat(ids, more), r, own, tested...)...), ids, nil
}

// byCause tells what begins again from what is only tested again: patches of tasks that were given up for another one's cause. A
// task that is named, or that gets something else, begins again.
func byCause(tasks *run.Tasks, ids []string, own map[string]run.Revision, asked bool) (again, tested []string) {
	for _, id := range ids {
		if o := own[id]; asked || o.Changes() || !tasks.ByID[id].HandedIn() {
			again = append(again, id)
		} else {
			tested = append(tested, id)
		}
	}
	return again, tested
}

// reopen lets a run continue that has come to its end, or to its final gates. A run that no process executes is stopped then, for
// resume to continue.
func reopen(agenda *run.Agenda, reason string) []run.Action {
	switch agenda.Status {
	case run.Done, run.Parked:
		return []run.Action{run.SetRun(run.Data{State: run.Stopped, Reason: reason})}
	case run.Final:
		return []run.Action{run.SetRun(run.Data{State: run.Running})}
	default:
		return nil
	}
}

// Skip gives tasks up as not needed. What was parked only because of them is opened again. It returns the ids of the tasks that
// are skipped; the error is a *RefusedError.
func Skip(
	agenda *run.Agenda, works run.Works, refs []string, r run.Revision, reason string,
) (actions []run.Action, skipped []string, err error) {
	gone := map[string]bool{}
	for _, ref := range refs {
		ids, err := members(agenda, ref)
		if err != nil {
			return nil, nil, err
		}
		open := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return gone[id] || kept(agenda.Tasks.ByID[id]) })
		if len(open) == 0 && !gone[ids[0]] {
			return nil, nil, Refusedf("%s has ended and is %s: there is nothing to skip", ref, agenda.Tasks.ByID[ids[0]].State)
		}
		for _, id := range open {
			if agenda.Tasks.ByID[id].State == run.TaskLanding {
				return nil, nil, Refusedf("%s is landing", id)
			}
			gone[id], skipped = true, append(skipped, id)
		}
	}
	actions = reopen(agenda, "tasks were skipped")
	for _, id := range skipped {
		actions = append(actions, end(works, agenda.Tasks.ByID[id], run.TaskSkipped, reason)...)
	}
	return append(actions, freed(&agenda.Tasks, gone, r, true)...), skipped, nil
}

// members are the ids of the tasks that a reference names, in a run in which tasks can be opened again.
func members(agenda *run.Agenda, ref string) ([]string, error) {
	if err := lasting(agenda); err != nil {
		return nil, err
	}
	ids := agenda.Tasks.Members(ref)
	if len(ids) == 0 {
		return nil, unknown(agenda, ref)
	}
	return ids, nil
}

// lasting refuses a run that was ended for good.
func lasting(agenda *run.Agenda) error {
	if agenda.Status == run.Cancelled {
		return Refusedf("run %s was cancelled, which is for good: start another run", agenda.Spec.Run)
	}
	return nil
}

// Retriable returns why Retry refuses these tasks, whatever else it is given; the error is a *RefusedError.
func Retriable(agenda *run.Agenda, refs []string) error {
	_, err := retried(agenda, refs, true)
	return err
}

// retried are the ids of the tasks that a retry names. There may be none where the plan has gained some.
func retried(agenda *run.Agenda, refs []string, gained bool) (out []string, err error) {
	if len(refs) == 0 {
		return parked(agenda, gained)
	}
	for _, ref := range refs {
		if h := agenda.Templates.Of[ref].Open(); agenda.Tasks.Single(ref) == nil && h != nil {
			return nil, Refusedf("the template %s is held, and waits for an answer: %s", ref, h.Why())
		}
	}
	for _, ref := range refs {
		ids, err := members(agenda, ref)
		if err != nil {
			return nil, err
		}
		if t := agenda.Tasks.ByID[ids[0]]; t.Drops != nil {
			return nil, Refusedf("%s: skip it, then drop again", onlyDrops(t))
		}
		given := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !agenda.Tasks.ByID[id].GivenUp() })
		switch t := agenda.Tasks.ByID[ids[0]]; {
		case len(given) > 0 && agenda.Tasks.ByID[given[0]].Parent != "":
			return nil, Refusedf("%s belongs to the agent of %s: retry that one", ref, agenda.Tasks.ByID[given[0]].Parent)
		case len(given) == 0 && agenda.Tasks.Single(ref) == nil:
			return nil, Refusedf("no task of %s is parked or cancelled: there is nothing to retry", ref)
		case len(given) == 0:
			return nil, Refusedf("%s is %s: only a parked or cancelled task can be tried again", ref, t.State)
		}
		out = append(out, slices.DeleteFunc(given, func(id string) bool { return slices.Contains(out, id) })...)
	}
	return out, nil
}

// parked are all planned tasks that are parked. Those that wait for others of them follow these.
func parked(agenda *run.Agenda, gained bool) (out []string, err error) {
	if err := lasting(agenda); err != nil {
		return nil, err
	}
	var drops *run.Task
	for t := range agenda.Tasks.All() {
		switch {
		case t.State != run.TaskParked || t.Parent != "" || t.Task.InRound():
		case t.Drops != nil:
			drops = t
		default:
			out = append(out, t.Task.ID)
		}
	}
	switch {
	case len(out) > 0 || gained:
	case drops != nil:
		return nil, Refusedf("%s: skip it, then drop again", onlyDrops(drops))
	default:
		return nil, Refusedf("no task of run %s is parked: there is nothing to retry", agenda.Spec.Run)
	}
	return out, nil
}
