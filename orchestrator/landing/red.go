package landing

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/landing/blame"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// decideRed accepts tests that fail, in one environment, in the files of their task, or with mutants of the code.
func decideRed(in facts, t *run.Task, red run.Red, environment string) []run.Action {
	if t.Task.ChangeSet == "" {
		return decideMutants(in, t, red, environment)
	}
	own, others := blame.InTests(in.proofs, t, in.proofs.FailedIn(environment, red.Tree, in.spec.GatesOf(t.Task), red.Since))
	switch {
	case len(own) > 0:
		red.Failed, red.In = append(red.Failed, own...), append(slices.Clone(red.In), environment)
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted, Red: &red})}
	case len(others) > 0:
		return unproven(in, t, "without the change the gates fail in nothing that this task wrote: "+
			text.Some(others, blame.MaxNamed), strings.Join(others, "\n"))
	default:
		return unproven(in, t, "the new tests pass without the change: they prove nothing", "")
	}
}

// decideMutants accepts tests that find changes of the code which no other test finds.
func decideMutants(in facts, t *run.Task, red run.Red, environment string) []run.Action {
	gates := redGates(in, t)
	if passed := in.proofs.PassedIn(environment, red.Tree, gates, red.Since); len(passed) > 0 && len(passed[0].Kills) > 0 {
		red.Failed, red.In = append(red.Failed, passed[0].Kills...), append(slices.Clone(red.In), environment)
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted, Red: &red})}
	}
	var why, detail []string
	for _, f := range in.proofs.FailedIn(environment, red.Tree, gates, red.Since) {
		why, detail = append(why, f.Receipt.Signatures...), append(detail, f.Receipt.Tail)
	}
	message := cmp.Or(text.Some(why, blame.MaxNamed), "the new tests find no change of the code")
	return unproven(in, t, message, strings.Join(detail, "\n"))
}

func unproven(in facts, t *run.Task, message, detail string) []run.Action {
	return sendBack(in, t, spec.Fault{
		Class: wire.FaultProof, Message: message,
		Detail: detail,
	})
}
