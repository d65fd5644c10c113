package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/round"
	"divisi/orchestrator/run"
)

// nextRound is what follows in a template by finding; nothing while tasks of a round, or its gate, are under way.
func nextRound(s *run.State, t *run.Task) []run.Action {
	name := t.Task.Mends[0]
	now, known := s.Proofs.Now(name)
	if !known || !s.Baselined() || s.Tasks.OpenShards(t.Task.ID) || len(s.Batches.Testing) > 0 ||
		s.Works[run.HeadTask].Outstanding() {
		return nil
	}
	here, again, lost, why := alone(s, t, now)
	step := round.Step{Check: true}
	if here != nil {
		step = round.Next(round.Facts{
			Task: t, Now: *here, Again: again, Of: func(tree string) *spec.Receipt { return s.FoundOn(name, tree) },
		})
	}
	switch {
	case step.Check && lost >= recovery.MaxGateTries:
		step.Ends = fmt.Sprintf("gate %s could not be run alone on the head: %s", name, why)
	case step.Check:
		return s.Works.AssignGates(run.Dispatch{Task: run.HeadTask, Head: s.Tip(), Gates: []string{name}})
	case step.Silent:
		d := run.TaskData{State: run.TaskDone, Reason: "silent: gate " + name + " is green"}
		return []run.Action{run.SetTask(t.Task.ID, d)}
	}
	if step.Ends != "" {
		return recovery.Park(&s.Spec, t, step.Ends, nil)
	}
	return []run.Action{expandOn(s, t, run.Expand{Round: step.Round, Findings: here.Findings})}
}

// alone is what a gate finds on the head, and what it has found there once more in a run of its own, behind the newest round of
// a template; nil for none. now is its newest receipt: where other tasks have landed since, or it is of another environment, the
// first such run counts in its place. lost are the runs without a receipt, with why the newest left none.
func alone(s *run.State, t *run.Task, now spec.Receipt) (here, again *spec.Receipt, lost int, why string) {
	tree := s.TreeOf(s.Tip(), now.Gate)
	if now.Tree == tree || now.Verdict == spec.VerdictPass {
		here = &now
	}
	for _, a := range s.Works.HeadRuns(s.Tip(), s.Plans.EndOf(t)) {
		if a.Result == nil {
			lost++
			continue
		}
		why = run.FaultOf(a.Result).Message
		i := slices.IndexFunc(a.Result.Receipts, func(r spec.Receipt) bool { return r.Gate == now.Gate && r.Tree == tree })
		switch {
		case i < 0:
			lost++
		case here != nil:
			again = &a.Result.Receipts[i]
		default:
			if here = &a.Result.Receipts[i]; here.Verdict == spec.VerdictPass {
				again = here
			}
		}
	}
	return here, again, lost, cmp.Or(why, "it left no receipt")
}

// expandOn expands a template. One whose rule cannot be applied is parked.
func expandOn(s *run.State, t *run.Task, e run.Expand) run.Action {
	e.Template, e.Commit = t, s.Tip()
	e.Then = func(d run.PlanData, problems []spec.Problem) []run.Action {
		if len(problems) > 0 {
			err := &spec.PlanError{Problems: problems}
			return recovery.Park(&s.Spec, t, "its shard rule: "+text.OneLine(err.Error()), nil)
		}
		return []run.Action{run.Append{Data: d}}
	}
	return e
}
