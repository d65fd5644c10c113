package phase

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// Finish ends a run in which nothing is left to do: final gates on the integration head, whose tree is given, then the one ref in
// the user's repository, then the last event.
func Finish(s *run.State, tree string) []run.Action {
	if s.Status != run.Final {
		return []run.Action{run.SetRun(run.Data{State: run.Final})}
	}
	if len(s.Final) < len(s.Spec.Project.Gates) {
		return finalGates(s, tree)
	}
	end := run.Data{State: outcome(s), Head: s.Head}
	end.Reason, end.Unverified = why(s, end.State), acceptance.Unverified(s)
	return []run.Action{run.End{Data: end}}
}

// finalGates runs every gate on the integration head, unless that very tree is proven. Red runs once more before it counts.
func finalGates(s *run.State, tree string) []run.Action {
	final := func(receipts []spec.Receipt) []run.Action { return []run.Action{run.SetRun(run.Data{Final: receipts})} }
	if names := s.GateNames(); s.IsProven(tree, names) {
		return final(s.Receipts(tree, names))
	}
	if s.Head == s.Spec.Base {
		return final(baselineReceipts(s))
	}
	w := s.Works[run.FinalTask]
	if w == nil {
		return assignGates(run.FinalTask, s.Head, 1)
	}
	r := s.Settled(run.FinalTask)
	switch {
	case r == nil:
		return nil
	case !acceptance.ProvedOn(tree, r.Receipts): // more has landed since
		return assignGates(run.FinalTask, s.Head, w.Last+1)
	case r.Status == spec.StatusDone, len(r.Receipts) == len(s.Spec.Project.Gates) && w.Last > 1:
		return final(r.Receipts)
	case w.Last >= schedule.MaxGateTries && w.Attempts[w.Last].Epoch == s.Epoch: // a resumed run tries again
		return []run.Action{run.Fail{Err: fmt.Errorf("the final gates could not be run: %s", run.FaultOf(r).Message)}}
	default:
		return assignGates(run.FinalTask, s.Head, w.Last+1)
	}
}

// Over reports whether nothing is left but the end.
func Over(s *run.State) bool {
	if s.Status != run.Running && s.Status != run.Planning && s.Status != run.Final {
		return false
	}
	if len(s.Batches) > 0 || !quietBut(s, run.FinalTask) {
		return false
	}
	if s.Spec.Plan != nil {
		return len(s.Plans) > 0
	}
	return s.MasterDone || s.MasterGaveUp() != ""
}

// quietBut is Quiet, but for one thing that may be on the queue.
func quietBut(s *run.State, id string) bool {
	if w := s.Works[id]; w != nil && w.Outstanding() {
		all, _ := s.AtWork()
		return all == 1 && s.Waiting() == 0 && s.TasksEnded()
	}
	return s.Quiet()
}

// baselineReceipts are the base commit's, in the project's order, as the final ones of a run in which nothing landed.
func baselineReceipts(s *run.State) []spec.Receipt {
	out := make([]spec.Receipt, 0, len(s.Spec.Project.Gates))
	for _, g := range s.Spec.Project.Gates {
		r := s.Baseline[g.Name]
		if r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable {
			r.Verdict = spec.VerdictBaseline
		}
		out = append(out, r)
	}
	return out
}

// why is the reason of a run's end.
func why(s *run.State, end run.Status) string {
	n := s.Counts()
	if end == run.Done {
		return fmt.Sprintf("%d landed, %d done without a change", n[run.TaskLanded], n[run.TaskDone])
	}
	if why := s.MasterGaveUp(); why != "" {
		return why
	}
	if s.PlannedNothing() {
		return withWords("the master planned nothing", master.Words(s))
	}
	if landedUnverified(s) {
		return fmt.Sprintf("%d landed unverified, %d parked: %s",
			n[run.TaskLanded], n[run.TaskParked]+n[run.TaskCancelled], acceptance.Unverified(s))
	}
	if s.NothingGivenUp() {
		return "the final gates are redder than the baseline"
	}
	return fmt.Sprintf("%d landed, %d parked", n[run.TaskLanded], n[run.TaskParked]+n[run.TaskCancelled])
}

func withWords(ended, words string) string {
	if words = strings.TrimSpace(words); words == "" {
		return ended
	}
	return ended + ": " + text.Clip(words, maxWords)
}

// maxWords bounds, in bytes, what a run's end quotes of the master.
const maxWords = 2000

// outcome returns the end that a run has earned once its final gates have run.
func outcome(s *run.State) run.Status {
	if !s.NothingGivenUp() {
		return run.Parked
	}
	red := func(r spec.Receipt) bool { return r.Verdict == spec.VerdictFail }
	if s.MasterGaveUp() != "" || s.PlannedNothing() || landedUnverified(s) || slices.ContainsFunc(s.Final, red) {
		return run.Parked
	}
	return run.Done
}

// landedUnverified reports whether something has landed and nothing of it is proven.
func landedUnverified(s *run.State) bool {
	return s.Head != s.Spec.Base && acceptance.Unverified(s) != ""
}
