package landing

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// What rules of landing propose is the next event of a batch, with those of the batches that are built on it, or of a task.

func landingOf(b *run.Batch) run.LandingData {
	return run.LandingData{
		Batch: b.Number, Old: b.Old, Head: b.Head, Tree: b.Tree, Set: b.Set, Mends: b.Mends, Through: b.Through, Tasks: b.Tasks,
	}
}

// test assigns a batch's gates.
func test(d run.LandingData, gates []string, try int) run.Action {
	d.State, d.Receipts = run.LandingTesting, nil
	d.Dispatch = &run.Dispatch{
		Task: fmt.Sprintf("%s-%d", run.BatchTask, d.Batch), Attempt: try, Role: spec.RoleTester, Head: d.Head, Gates: gates,
		Since: d.Old, Mends: d.Mends, Through: d.Through, InFirst: d.Set != "" || len(d.Mends)+len(d.Through) > 0,
	}
	return run.Assign{Append: run.Append{Data: d}, Dispatch: d.Dispatch}
}

// retest tests a batch once more.
func retest(b *run.Batch, d run.LandingData) []run.Action {
	d.State = run.LandingRed
	return []run.Action{run.Append{Data: d}, test(d, b.Gates, b.Attempt+1)}
}

// drop puts the tasks of a batch back into the queue as they were, and those of the batches that are built on it.
func drop(in facts, d run.LandingData) []run.Action {
	d.State = run.LandingDropped
	return append(dropAbove(in, d.Head), run.Append{Data: d})
}

// dropAbove drops the batches that are built on a commit, the newest first.
func dropAbove(in facts, commit string) (actions []run.Action) {
	for _, b := range in.batches.Testing {
		if b.Old == commit {
			actions = append(actions, dropTested(in, b)...)
		}
	}
	return actions
}

// dropTested drops a batch with those that are built on it, and takes its gates off the queue.
func dropTested(in facts, b *run.Batch) []run.Action {
	actions := drop(in, landingOf(b))
	if in.works.Tested(b) == nil {
		actions = append(actions, run.TakeBack{Work: in.works[b.Work]}, run.Tell{Work: b.Work})
	}
	return actions
}

// split puts the tasks of a batch back, in parts.
func split(in facts, d run.LandingData, search *run.Search, parts ...[]string) []run.Action {
	d.State, d.Search = run.LandingSplit, search
	d.Parts = slices.DeleteFunc(parts, func(part []string) bool { return len(part) == 0 })
	return append(dropAbove(in, d.Head), run.Append{Data: d})
}

// ask puts the tasks of a batch back into the queue, and holds those that are asked about.
func ask(in facts, d run.LandingData, doubts map[string]run.Doubt) []run.Action {
	actions := drop(in, d)
	for _, t := range tasksOf(in, d) {
		if doubt, asked := doubts[t.Task.ID]; asked {
			actions = append(actions, run.HoldPatch(t, doubt))
		}
	}
	return slices.Clip(actions)
}

// sendBack is what follows from a failure of a task: another attempt, or parking.
func sendBack(in facts, t *run.Task, f spec.Fault) []run.Action {
	return recovery.Failed(in.agenda, in.agents, t, f)
}

// onSet gives a task another attempt, on the merged set; kept reports that the set holds what the task has changed.
func onSet(in facts, t *run.Task, f spec.Fault, head string, kept bool) []run.Action {
	return changed(sendBack(in, t, f), func(d *run.TaskData) {
		if d.State == run.TaskPending {
			d.Head, d.Kept = head, kept
		}
	})
}

// changed changes what some actions tell of tasks.
func changed(actions []run.Action, change func(*run.TaskData)) []run.Action {
	for i, action := range actions {
		if a, appends := action.(run.Append); appends {
			if d, ofTask := a.Data.(run.TaskData); ofTask {
				change(&d)
				a.Data = d
				actions[i] = a
			}
		}
	}
	return actions
}
