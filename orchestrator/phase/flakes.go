package phase

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// Flakes has the gates that run tests run once more on the base commit while a gate permit is idle: what fails in one of the two
// runs alone is flaky. Nothing waits for this run: it ends when a batch takes the permit and when no task is left, and is not
// repeated.
func Flakes(s *run.State) []run.Action {
	w := s.Works[run.FlakesTask]
	switch {
	case w == nil && idle(s) && len(slices.Collect(s.Tasks.In(run.TaskAccepted))) == 0:
		return runAgain(&s.Spec, s.Works, &s.Proofs)
	case w == nil:
		return nil
	case w.Outstanding() && !idle(s):
		return []run.Action{run.SetRun(run.Data{Void: w.ID}), run.TakeBack{Work: w}, run.Tell{Work: w.ID}}
	}
	return nil
}

// SettleFlakes compares two runs on the base commit, once: what fails in one of them alone is flaky, and what did not pass in
// both is no test that has to run later.
func SettleFlakes(s *run.State) []run.Action {
	for _, id := range []string{run.FlakesTask, run.AgainTask} {
		r := s.Works.Settled(id)
		if r == nil || s.Proofs.Flaky != nil || s.Works[id].Attempts[s.Works[id].Last].Void {
			continue
		}
		if flaky, names := compared(&s.Proofs, r.Receipts); flaky != nil {
			return []run.Action{run.SetRun(run.Data{Flaky: flaky, Names: names, Notices: flakyNotice(flaky)}), Keep{}}
		}
	}
	return nil
}

// idle reports whether a gate permit is free while there is something to do.
func idle(s *run.State) bool {
	atWork := s.Status == run.Planning || s.Status == run.Running && !s.Tasks.AllEnded()
	free := s.Batches.Free(s.Crew.Permits(s.Spec.Project.GatePermits), s.Works) > 0
	return atWork && free && s.Baselined() && !s.Halted() && !s.Works.RunsAgain()
}

func runAgain(order *run.Spec, works run.Works, proofs *run.Proofs) []run.Action {
	names := proof.Comparable(order, proofs)
	if len(names) == 0 || proofs.Flaky != nil {
		return nil
	}
	return works.AssignGates(run.Dispatch{Task: run.FlakesTask, Head: order.Base, Gates: names})
}

// compared returns the failures that the baseline of an environment and a second run there do not share, by gate; nil where
// nothing could be compared. A test that was hidden in one of them has not run there. Names are the objects with the tests that
// passed in the second one, where that was in the environment of the baseline.
func compared(proofs *run.Proofs, receipts []spec.Receipt) (flaky map[string][]string, names map[string]string) {
	for _, r := range receipts {
		before := cmp.Or(proofs.Before(r), &spec.Receipt{})
		hides := len(gate.NewHidden(r, before)) + len(gate.NewHidden(*before, &r))
		if gate.Incomparable(r) != "" || hides > 0 || gate.Empty(r) || r.Environment != before.Environment {
			continue
		}
		if flaky == nil {
			flaky, names = map[string][]string{}, map[string]string{}
		}
		if len(r.Names) > 0 && r.Environment == proofs.Reference() {
			names[r.Gate] = r.Names[0]
		}
		one := append(gate.NewSignatures(r, before), gate.NewSignatures(*before, &r)...)
		if slices.Sort(one); len(one) > 0 {
			flaky[r.Gate] = one
		}
	}
	return flaky, names
}

// flakyNotice names flaky failures in one line; nil for none.
func flakyNotice(flaky map[string][]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(flaky)) {
		for _, signature := range flaky[name] {
			names = append(names, name+": "+signature)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{text.OneLine(fmt.Sprintf("flaky on the base commit, red in one of two runs: %s; where nothing else is red, "+
		"a batch is tested once more", strings.Join(text.Few(names, maxNamed), ", ")))}
}
