package acceptance

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// hold keeps a patch out of the queue until the master, a person or the policy of the run has decided about the evidence.
func hold(t *run.Task, evidence ...string) []run.Action {
	return []run.Action{run.SetTask(t.Task.ID, run.TaskData{
		State: run.TaskHeld, Reason: evidence[0], Doubt: &run.Doubt{Evidence: evidence},
	})}
}

// ask holds a patch for what was found, unless only its size is questionable, and that of this task was accepted before.
func ask(s *run.State, t *run.Task, v Verdict) []run.Action {
	d := &run.Doubt{Evidence: v.Evidence(), Size: v.size()}
	if d.Size && slices.ContainsFunc(t.Doubts, func(had run.Doubt) bool {
		return had.Size && had.Ruling != nil && had.Ruling.Accept
	}) {
		return accept(s, t)
	}
	return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskHeld, Reason: d.Evidence[0], Doubt: d})}
}

// Rule decides about a held patch: it goes on, or its attempt has failed and the next one gets the words.
func Rule(s *run.State, t *run.Task, r run.Ruling) []run.Action {
	if r.Accept {
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskRunning, Ruling: &r})}
	}
	evidence := t.Doubt().Evidence
	f := spec.Fault{
		Class: wire.FaultRejected, Message: "the patch was rejected: " + text.Line(cmp.Or(r.Words, evidence[0])),
		Detail: strings.TrimSpace(r.Words + "\n" + strings.Join(evidence, "\n")),
	}
	d := recovery.After(s, t, f)
	d.Ruling = &r
	return []run.Action{run.SetTask(t.Task.ID, d)}
}
