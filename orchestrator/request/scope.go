package request

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ForPerson reports whether a request to write waits for a person: it is for protected paths, in a run without a master that
// asks.
func ForPerson(order *run.Spec, q *run.Request) bool {
	asks := order.Plan != nil && order.OnDoubt != run.OnDoubtReject && order.OnDoubt != run.OnDoubtAccept
	return q.Kind == wire.RequestScope && asks && unplanned(order, q.Paths) != ""
}

// Grant lets the task of a request that waits for a person write what it asks for. The error is a *RefusedError.
func Grant(agenda *run.Agenda, q *run.Request, by string) ([]run.Action, string, error) {
	if why := mayGrow(agenda, agenda.Tasks.ByID[q.Of], q); why != "" {
		return nil, "", Refusedf("%s cannot write there: %s", q.Of, why)
	}
	a := grown(q)
	a.Unlocked, a.From = spec.Unlocks(q.Paths, agenda.Spec.Project.Protected), by
	return answer(q, a), q.Of + " may write " + strings.Join(q.Paths, ", "), nil
}

// Deny refuses such a request; its agent reads why.
func Deny(q *run.Request, why, by string) ([]run.Action, string) {
	return answer(q, wire.Answer{Refused: why, From: by}), "the agent continues without it"
}

// mayGrow returns why a task's write set may not grow as its agent asks, but for protected paths; "" when it may.
func mayGrow(agenda *run.Agenda, t *run.Task, q *run.Request) string {
	if t == nil {
		return "only the agent of a task can write, and so ask for more to write"
	}
	role := agenda.Spec.Roles[t.Task.Role]
	if !role.ChangesFiles() {
		return fmt.Sprintf("role %s writes nothing: report the needed change in your findings", role.Name)
	}
	if problems := pathProblems(q.Paths); problems != "" {
		return problems
	}
	for _, l := range agenda.Tasks.Locked() {
		if at, meet := spec.Intersect(l.Files, q.Paths); meet && l.Task != t.Task.ID {
			return fmt.Sprintf("%s is locked by %s. Do not work around it: finish the rest, and report the needed change in "+
				"deviations, as a follow-up task", at, l.Task)
		}
	}
	// A delegated task that has not begun locks nothing yet, but an agent waits for it, perhaps the one that asks here: what it
	// is to write would be locked until that one ends, and that one waits.
	for child := range agenda.Tasks.Open() {
		id := child.Task.ID
		if child.Parent == "" || id == t.Task.ID {
			continue
		}
		if at, meet := spec.Intersect(child.Task.Files, q.Paths); meet {
			return fmt.Sprintf("%s belongs to %s, which an agent waits for. Leave it to that task, or report the needed "+
				"change in deviations", at, id)
		}
	}
	return ""
}

// unplanned returns which entry of a write set that an agent asks for is protected; "" for none. Only a person and the master
// unlock protected paths.
func unplanned(order *run.Spec, files []string) string {
	if locked := spec.Unlocks(files, order.Project.Protected); len(locked) > 0 {
		return locked[0] + " is protected, and only a plan can give it to a task: name it in deviations"
	}
	return ""
}

// pathProblems lists the problems of entries of a write set; "" for none.
func pathProblems(paths []string) string {
	if len(paths) == 0 {
		return "no paths were named"
	}
	p := spec.Plan{Tasks: []spec.Task{{ID: "t", Role: "r", Brief: "b", Files: paths}}}
	var lines []string
	for _, problem := range p.Validate(spec.Env{Roles: map[string]spec.Role{"r": {Writes: true}}}) {
		lines = append(lines, strings.ReplaceAll(problem.String(), "tasks[0].files", "paths"))
	}
	return strings.Join(lines, "\n")
}
