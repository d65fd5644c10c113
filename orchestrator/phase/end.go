package phase

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Finish ends a run in which nothing is left to do: final gates on the integration head, whose tree is given, in a run that
// compares these with the user's own shell, then the one ref in the user's repository, then the last event.
func Finish(s *run.State, tree string) []run.Action {
	if s.Status != run.Final {
		if again := joint(s); again != nil {
			return again
		}
		return []run.Action{run.SetRun(run.Data{State: run.Final})}
	}
	if len(s.Final) < len(s.Spec.Project.Gates) {
		return finalGates(s, tree)
	}
	if s.Spec.Twin && s.Twin == nil && s.Head != s.Spec.Base {
		return []run.Action{run.ProveTwin{}}
	}
	end := run.Data{State: outcome(s), Head: s.Head}
	end.Reason, end.Unverified = why(s, end.State), proof.UnverifiedLanded(&s.Agenda, &s.Branch)
	return []run.Action{run.End{Data: end}}
}

// finalGates runs in full all gates that are not proven so on the integration head, whatever their paths: a gate can depend on
// more than it opens. Red runs once more before it counts; then the landed batches are searched for the first red one.
func finalGates(s *run.State, tree string) []run.Action {
	final := run.Data{}
	var open, red []string
	var good []spec.Receipt
	var next run.Closing
	for _, name := range s.Spec.GateNames() {
		switch c := s.Close(s.Head, tree, name); {
		case len(c.Good) > 0:
			final.Final, good = append(final.Final, better(&s.Proofs, c.Good[0])), append(good, c.Good...)
		case c.Red != nil:
			red, final.Final = append(red, name), append(final.Final, *c.Red)
			final.Notices = append(final.Notices, disputed(&c)...)
		case len(open) == 0 || slices.Equal(c.Not, next.Not) && c.InFirst == next.InFirst: // others run after these
			open, next = append(open, name), c
		}
	}
	switch {
	case len(open)+len(red) > 0 && s.Head == s.Spec.Base:
		final = run.Data{Final: baselineReceipts(&s.Spec, &s.Proofs)}
	case len(open) > 0:
		return runInFull(&s.Agents, &s.Proofs, s.Head, tree, open, &next)
	case len(red) > 0:
		next, of, first := firstRed(&s.Branch, red)
		if next != nil {
			return runInFull(&s.Agents, &s.Proofs, next.Head, next.Tree, red, &of)
		}
		final.FirstRed = first
	}
	return endFinal(s, final, good)
}

// better is a receipt of the end, of a gate that is red and that a task has mended in part.
func better(proofs *run.Proofs, r spec.Receipt) spec.Receipt {
	if r.Verdict == spec.VerdictBaseline && len(proofs.Mended[r.Gate]) > 0 {
		r.Verdict = spec.VerdictBetter
	}
	return r
}

// disputed reports that a gate which is red at the end had passed on other workers.
func disputed(c *run.Closing) []string {
	if len(c.Passed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("gate %s is red on worker %s, and %s signed that it passes on the same tree: if that is a lie, "+
		"put its worker into quarantine", c.Red.Gate, c.Red.Worker, strings.Join(c.Passed, ", "))}
}

// endFinal records the final gates, with the tests of the base commit that did not run in one of the runs that passed, and that
// nothing which landed explains. The gates run on the base commit once more before that counts.
func endFinal(s *run.State, final run.Data, good []spec.Receipt) []run.Action {
	if again := excused(s, &final, good); again != nil {
		return again
	}
	missing := proof.Missing(good)
	if len(missing) == 0 || s.Head == s.Spec.Base {
		return []run.Action{run.SetRun(final)}
	}
	span := proof.Span{From: s.Spec.Base, To: s.Head}
	return []run.Action{proof.Inspect{
		Receipts: missing, Spans: []proof.Span{span}, Then: func(found proof.Inspection) []run.Action {
			if final.Missing = found.Doubts[""].Evidence; final.Missing != nil {
				if again := proof.OnBaseAgain(s); again != nil {
					return again
				}
			}
			return []run.Action{run.SetRun(final)}
		},
	}}
}

// runInFull runs gates in full on a commit of the branch. Runs that left no receipt of its tree are repeated a few times.
func runInFull(agents *run.Agents, proofs *run.Proofs, head, tree string, gates []string, c *run.Closing) []run.Action {
	d := run.Dispatch{
		Task: run.FinalTask, Head: head, Gates: gates, InFirst: c.InFirst, Not: c.Not,
	}
	w := agents.Works[run.FinalTask]
	if w == nil {
		return agents.Works.AssignGates(d)
	}
	newest := agents.Works.Settled(run.FinalTask)
	switch {
	case newest == nil, proofs.Outdated:
		return nil
	case fruitless(agents, w, head, tree) >= recovery.MaxGateTries+agents.Works.Foreign(w.ID):
		return []run.Action{run.Fail{Err: fmt.Errorf("the final gates could not be run: %s", run.FaultOf(newest).Message)}}
	}
	return agents.Works.AssignGates(d)
}

// fruitless counts the newest runs on a commit, in a row, that left no receipt of its tree. A resumed run tries again.
func fruitless(agents *run.Agents, w *run.Work, head, tree string) (n int) {
	for {
		a := w.Attempts[w.Last-n]
		if a == nil || a.Head != head || a.Epoch != agents.Epoch || a.Result == nil {
			return n
		}
		if r := a.Result.Receipts; len(r) > 0 && r[0].Tree == tree {
			return n
		}
		n++
	}
}

// Over reports whether nothing is left but the end.
func Over(s *run.State) bool {
	if s.Status != run.Running && s.Status != run.Planning && s.Status != run.Final {
		return false
	}
	return s.Baselined() && quietBut(&s.Tasks, &s.Agents, run.FinalTask) && nothingLeft(s) && !s.Batches.Reproving()
}

// nothingLeft reports whether all tasks have ended, and no other ones come.
func nothingLeft(s *run.State) bool {
	if len(s.Batches.Testing) > 0 || !s.Tasks.AllEnded() {
		return false
	}
	if s.Spec.Plan != nil {
		return len(s.Plans.All) > 0
	}
	return s.Master.Done || s.Master.GaveUp() != ""
}

// quietBut is Quiet, but for one thing that may be on the queue.
func quietBut(tasks *run.Tasks, agents *run.Agents, id string) bool {
	if w := agents.Works[id]; w.Outstanding() {
		all, _ := agents.Queue.AtWork()
		return all == 1 && agents.Queue.Waiting() == 0 && tasks.AllEnded()
	}
	return agents.Quiet(tasks)
}

// baselineReceipts are the base commit's, in the project's order, as the final ones of a run in which nothing landed.
func baselineReceipts(order *run.Spec, proofs *run.Proofs) []spec.Receipt {
	out := make([]spec.Receipt, 0, len(order.Project.Gates))
	for _, g := range order.Project.Gates {
		r := proofs.Baseline[g.Name]
		if r.Verdict == spec.VerdictFail || r.Verdict == spec.VerdictUnattributable {
			r.Verdict = spec.VerdictBaseline
		}
		out = append(out, r)
	}
	return out
}

// why is the reason of a run's end.
func why(s *run.State, end run.Status) string {
	n := s.Tasks.Counts()
	did := strings.TrimPrefix(strings.Join(append([]string{redder(&s.Branch)}, less(s)...), "; "), "; ")
	if p := s.Batches.Passage; p != nil {
		return stuck(s, p)
	}
	if end == run.Done {
		landed := fmt.Sprintf("%d landed", n[run.TaskLanded])
		return landed + some(n[run.TaskDone], "unchanged") + some(n[run.TaskSkipped], "skipped") +
			some(n[run.TaskDropped], "dropped") + oneWorker(s)
	}
	if why := s.Master.GaveUp(); why != "" {
		return why
	}
	if plannedNothing(&s.Agenda, &s.Master) {
		return withWords("the master planned nothing", s.Works.Settled(run.MasterTask))
	}
	if changedNothing(s) && s.Tasks.NoneGivenUp() {
		return withWords("nothing landed: no task changed a file", s.Works.Settled(run.MasterTask))
	}
	if why := proof.BetterLanded(&s.Agenda, &s.Branch); why != "" && proof.UnverifiedLanded(&s.Agenda, &s.Branch) == "" {
		parked := some(n[run.TaskParked]+n[run.TaskCancelled], "parked")
		return strings.TrimSuffix(fmt.Sprintf("%s%s; %s", why, parked, did), "; ")
	}
	if why := proof.UnverifiedLanded(&s.Agenda, &s.Branch); why != "" && s.Head != s.Spec.Base {
		what := "landed unverified"
		if proof.Unverified(&s.Agenda, &s.Proofs) == "" {
			what = "landed, not all verified"
		}
		return strings.TrimSuffix(fmt.Sprintf("%d %s, %d parked: %s; %s", n[run.TaskLanded], what,
			n[run.TaskParked]+n[run.TaskCancelled], why, did), "; ")
	}
	if s.Tasks.NoneGivenUp() && len(less(s)) == 0 {
		return redder(&s.Branch)
	}
	if s.Tasks.NoneGivenUp() {
		return fmt.Sprintf("%d landed%s%s%s: %s", n[run.TaskLanded], some(n[run.TaskDone], "unchanged"),
			some(n[run.TaskSkipped], "skipped"), some(n[run.TaskDropped], "dropped"), did)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d landed, %d parked%s%s; %s",
		n[run.TaskLanded], n[run.TaskParked]+n[run.TaskCancelled],
		some(n[run.TaskSkipped], "skipped"), some(n[run.TaskDropped], "dropped"), did), "; ")
}

// stuck words that a passage has not ended, and what is left in its gates.
func stuck(s *run.State, p *run.Passage) string {
	var left, tasks []string
	for _, gate := range p.Gates {
		if now, _ := s.Proofs.Now(gate); now.Verdict != spec.VerdictPass {
			left = append(left, fmt.Sprintf("gate %s has %s", gate, text.Count(now.Failures(), "failure")))
		}
	}
	for _, l := range p.Landed {
		tasks = append(tasks, run.Names(l.Tasks)...)
	}
	return fmt.Sprintf("the passage through %s has not ended, so nothing of it is on the branch (%s): %s; %d parked",
		strings.Join(p.Gates, ", "), text.Some(tasks, maxNamed), strings.Join(left, "; "), s.Tasks.Counts()[run.TaskParked])
}

// oneWorker words that no second worker has proven what landed.
func oneWorker(s *run.State) string {
	if s.OneWorker() == "" {
		return ""
	}
	return ", proven by one worker"
}

// some words a number of tasks behind others; "" for none.
func some(n int, word string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, word)
}

// redder words that final gates are red, and since which batch; "" where none is.
func redder(branch *run.Branch) string {
	if !slices.ContainsFunc(branch.Final, failed) {
		return strings.Join(branch.Missing, "; ")
	}
	words := "the final gates are redder than the baseline"
	if first := branch.Batches.FirstRed(); first != nil {
		names := text.Few(run.Names(first.Tasks), maxNamed)
		words += fmt.Sprintf(", first after batch %d: %s", first.Batch, strings.Join(names, ", "))
	}
	return words
}

// maxNamed bounds the tasks of a batch that a run's end names.
const maxNamed = 8

func failed(r spec.Receipt) bool { return r.Verdict == spec.VerdictFail }

// withWords adds what the master reported at the end of its newest turn.
func withWords(ended string, r *spec.Result) string {
	if r == nil || strings.TrimSpace(r.Handoff.Summary) == "" {
		return ended
	}
	return ended + ": " + text.Clip(strings.TrimSpace(r.Handoff.Summary), maxWords)
}

// maxWords bounds, in bytes, what a run's end quotes of the master.
const maxWords = 2000

// outcome returns the end that a run has earned once its final gates have run.
func outcome(s *run.State) run.Status {
	if !s.Tasks.NoneGivenUp() || s.Batches.Passage != nil {
		return run.Parked
	}
	unverified := s.Head != s.Spec.Base &&
		proof.UnverifiedLanded(&s.Agenda, &s.Branch)+proof.BetterLanded(&s.Agenda, &s.Branch) != ""
	if s.Master.GaveUp() != "" || changedNothing(s) || unverified || len(s.Missing) > 0 || slices.ContainsFunc(s.Final, failed) ||
		len(less(s)) > 0 {
		return run.Parked
	}
	return run.Done
}

// changedNothing reports whether a goal led to no change.
func changedNothing(s *run.State) bool {
	return s.Spec.Plan == nil && s.Master.Done && s.Head == s.Spec.Base
}

// plannedNothing reports whether the master ended its work and planned no task.
func plannedNothing(agenda *run.Agenda, lead *run.Master) bool {
	return agenda.Spec.Plan == nil && lead.Done && len(agenda.Tasks.Order) == 0
}
