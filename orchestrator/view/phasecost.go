package view

import (
	"cmp"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// The phases, by their places.
const (
	ofPreflight = iota
	ofPlan
	ofTasks
	ofLanding
	ofFinal
	phases
)

// phaseCost is from when until when a phase continued, on the run's clock, and what its models used.
type phaseCost struct {
	from, to time.Duration
	tokens   int
}

// costs are those of the phases. Preflight ends with the first baseline, and the plan with the begin of its tasks. The others go
// from their first attempt to the end of their last one. What a master uses counts for the plan, with the tasks beside it that
// change nothing: its surveys.
func costs(s *run.State) (of [phases]phaseCost) {
	now := s.Times.Clock(cmp.Or(s.Ended, s.Time))
	for id, w := range s.Works {
		at := phaseOf(s, id, w)
		if at < 0 {
			continue
		}
		for _, a := range w.Attempts {
			of[at].tokens = spec.Plus(of[at].tokens, a.Usage.Total())
			of[at].add(a, now)
		}
	}
	of[ofPreflight].from, of[ofPreflight].to = 0, preflightEnd(s, now)
	of[ofPlan].from, of[ofPlan].to = 0, 0
	if from, planned := s.Times.Entered[run.Planning]; planned {
		of[ofPlan].from, of[ofPlan].to = from, now
		if to, runs := s.Times.Entered[run.Running]; runs {
			of[ofPlan].to = to
		}
	}
	return of
}

// add has the phase continue while an attempt does.
func (c *phaseCost) add(a *run.Attempt, now time.Duration) {
	end := a.Life.Ended
	if a.Result == nil && !a.Void {
		end = now
	}
	if c.to == 0 || a.Life.Dispatched < c.from {
		c.from = a.Life.Dispatched
	}
	c.to = max(c.to, end)
}

// phaseOf is the place of the phase that a work belongs to; below 0 for none.
func phaseOf(s *run.State, id string, w *run.Work) int {
	id, _, _ = strings.Cut(id, run.VerifySuffix)
	id, _, _ = strings.Cut(id, run.RedSuffix)
	t := s.Tasks.ByID[id]
	switch {
	case id == run.SetupTask, id == run.BaselineTask:
		return ofPreflight
	case id == run.FinalTask:
		return ofFinal
	case w.Batch != nil, id == run.HeadTask:
		return ofLanding
	case id == run.MasterTask, t != nil && s.Passed[run.Planning] && !s.Spec.Roles[t.Task.Role].Writes:
		return ofPlan
	case t != nil:
		return ofTasks
	}
	return -1
}

// preflightEnd is when the gates had run on the base commit for the first time, and the run had begun.
func preflightEnd(s *run.State, now time.Duration) time.Duration {
	end, began := s.Times.Entered[run.Running], s.Passed[run.Running] || s.Passed[run.Planning]
	if at, planned := s.Times.Entered[run.Planning]; planned {
		end = at
	}
	if w := s.Works[run.BaselineTask]; w != nil && len(s.Proofs.Baseline) > 0 {
		for n := 1; n <= w.Last; n++ {
			if a := w.At(n); a != nil && a.Result != nil && len(a.Result.Receipts) > 0 {
				return max(end, a.Life.Ended)
			}
		}
	}
	if !began || !s.Baselined() {
		return now
	}
	return end
}
