package request

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Give makes the patch that a person, by, hands in the next attempt of a task, with its result. It opens the tasks that were
// given up only since this one was, and the run where it has ended. The same patch again changes nothing while the task has it.
// The error is a *RefusedError.
func Give(
	agenda *run.Agenda, agents *run.Agents, id string, p *spec.Patch, by string) (actions []run.Action, outcome string, err error,
) {
	t := agenda.Tasks.ByID[id]
	if t == nil {
		return nil, "", unknown(agenda, id)
	}
	if has(agents.Works, t, p) {
		return nil, id + " has this patch already, and is " + string(t.State), nil
	}
	if err := Givable(agenda, agents.Works, t, p.Base); err != nil {
		return nil, "", err
	}
	d := run.TaskData{
		State: run.TaskRunning, Reason: "a person submitted a patch", Given: p,
		Dispatch: &run.Dispatch{Task: id, Attempt: t.Attempt + 1, Role: spec.Person, Head: p.Base},
	}
	var over run.Data
	if doubt := t.Doubt(); doubt != nil { // others of its change set still wait
		of := run.DecisionID(id, doubt.Pos)
		if had := agents.Decisions.For(id); had != nil {
			over.Notices = []string{fmt.Sprintf("the answer to %s, %s by %s, is over%s: a person submitted another patch",
				had.Answer.ID, had.Answer.Option, had.Answer.By, strings.TrimSuffix(" for "+id, " for "+had.About))}
			over.Standing = agents.Standing.Fallen(had.Answer.ID, "a person submitted another patch")
		}
		d.Decision = &run.Decided{Kind: run.DecidePatch, About: id, Closed: true, Answer: run.Answer{
			ID: of, Option: run.Reject, Text: "a person submitted another patch", By: by,
		}}
	}
	// Before there is another attempt, which is the newest.
	actions = append(callBack(agents.Works, id), reopen(agenda, d.Reason)...)
	actions = append(actions, freed(&agenda.Tasks, map[string]bool{id: true}, run.Revision{By: by}, false)...)
	if over.Notices != nil {
		actions = append(actions, run.SetRun(over))
	}
	return append(actions, run.SetTask(id, d)), wire.AgentID(id, d.Dispatch.Attempt) + " is the patch of a person", nil
}

// has reports whether a patch is that of a task's newest attempt, and was not refused.
func has(works run.Works, t *run.Task, p *spec.Patch) bool {
	return works.ByPerson(t) && t.Result.Patch.Commit == p.Commit && !t.GivenUp()
}

// Givable returns why no patch on a base can be given to a task, as a *RefusedError; nil where one can.
func Givable(agenda *run.Agenda, works run.Works, t *run.Task, base string) error {
	if err := lasting(agenda); err != nil {
		return err
	}
	id, w, role := t.Task.ID, works[t.Task.ID], agenda.Spec.Roles[t.Task.Role]
	switch {
	case !slices.Contains(givableStates, t.State):
		return Refusedf("%s is %s: a patch can be given to a task that is parked, held or cancelled, or waits for its next "+
			"attempt", id, t.State)
	case t.Parent != "":
		return Refusedf("%s belongs to the agent of %s: give a patch to that one", id, t.Parent)
	case !role.ChangesFiles():
		return Refusedf("%s changes no files: its role is %s", id, t.Task.Role)
	case w == nil:
		return Refusedf("%s has no attempt yet", id)
	case t.Head != "" && t.Head != base:
		return Refusedf("the change set of %s was rebuilt since: take a newer attempt", id)
	}
	for _, a := range w.Attempts {
		if a.Head == base {
			return nil
		}
	}
	return Refusedf("no attempt of %s began with the commit %s", id, base)
}

// givableStates are those of a task that no agent works on and that has not ended well.
var givableStates = []run.TaskState{run.TaskPending, run.TaskHeld, run.TaskParked, run.TaskCancelled}
