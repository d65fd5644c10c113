package request

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// mayTransfer returns why a task may not be transferred as its agent asks; "" when it may.
func mayTransfer(agenda *run.Agenda, agents *run.Agents, q *run.Request) string {
	t := agenda.Tasks.ByID[q.Of]
	if t == nil {
		return "only the agent of a task can hand it over"
	}
	if had := agents.Requests.Transfer(t); had != nil && turnOf(had) == turnOf(q) { // it ends with the one that it was granted
		return "your task goes to " + had.Role + " already"
	}
	if why := callable(agenda, t, q.Role); why != "" {
		return why
	}
	from, to := agenda.Spec.Roles[t.Task.Role], agenda.Spec.Roles[q.Role]
	why := unfit(&agenda.Spec, t, &run.Revision{Role: q.Role})
	switch {
	case to.Executor == spec.ExecutorCommand && len(to.Command) == 0:
		return fmt.Sprintf("role %s runs the command of its task, and yours has none", q.Role)
	case why != "":
		return why
	case from.ChangesFiles() && !to.ChangesFiles():
		return fmt.Sprintf("role %s writes nothing, and your task is one that writes", q.Role)
	case !from.ChangesFiles() && to.ChangesFiles() && !agenda.Approval(t):
		return "your plan only reads and was not approved for writing: report the needed change in your findings"
	case !from.ChangesFiles() && to.ChangesFiles() && t.Parent != "" &&
		mayWrite(agenda, agents.Works, agenda.Tasks.ByID[t.Parent], t.Task.Files) != "":
		return "your task names no files to write, and an agent above you locks its own while it waits: report the needed " +
			"change in your findings"
	}
	return ""
}

// turnOf is the turn of its agent in which a request was made.
func turnOf(q *run.Request) string {
	turn, _, _ := strings.Cut(callPlace.FindString(q.ID), "-")
	return turn
}
