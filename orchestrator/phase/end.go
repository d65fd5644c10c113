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
)

// Over reports whether nothing is left but the end.
func Over(s *run.State) bool {
	if s.Status != run.Running && s.Status != run.Planning && s.Status != run.Final {
		return false
	}
	if s.Batch != nil || !quietBut(s, run.FinalTask) {
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

// BaselineReceipts are the base commit's, in the project's order, as the final ones of a run in which nothing landed.
func BaselineReceipts(s *run.State) []spec.Receipt {
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

// Why says in words how a run ended.
func Why(s *run.State, end run.Status) string {
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

// Outcome returns the end that a run has earned once its final gates have run.
func Outcome(s *run.State) run.Status {
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
