package phase

import (
	"errors"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// ErrPreflight reports that a run could not begin: its setup or its gates could not be run at all.
var ErrPreflight = errors.New("the repository is not ready for a run")

// Preflight has the gates run once on the base commit: the baseline.
func Preflight(s *run.State) []run.Action {
	switch s.Status {
	case run.Created:
		return []run.Action{run.SetRun(run.Data{State: run.Preflight})}
	case run.Preflight:
		return baseline(s)
	default:
		return nil
	}
}

func baseline(s *run.State) []run.Action {
	p := s.Spec.Project
	if len(p.Gates) == 0 && len(p.Setup.Command) == 0 {
		return endPreflight(s, &spec.Result{})
	}
	w := s.Works[run.BaselineTask]
	if w == nil {
		return assignGates(run.BaselineTask, s.Spec.Base, 1)
	}
	r := s.Settled(run.BaselineTask)
	if r == nil {
		return nil
	}
	if len(r.Receipts) < len(p.Gates) || len(p.Gates) == 0 && r.Status != spec.StatusDone {
		return baselineFailed(s, w, r)
	}
	return endPreflight(s, r)
}

// baselineFailed repeats the baseline after a failure of the machine; a setup that fails is the user's to fix.
func baselineFailed(s *run.State, w *run.Work, r *spec.Result) []run.Action {
	f := run.FaultOf(r)
	resumed := s.Epoch > w.Attempts[w.Last].Epoch
	if !resumed && (f.Class == wire.FaultSetup || w.Last >= schedule.MaxGateTries) {
		return []run.Action{run.Fail{Err: fmt.Errorf("%w: %s", ErrPreflight, schedule.Reason(s, f))}}
	}
	return assignGates(run.BaselineTask, s.Spec.Base, w.Last+1)
}

func assignGates(id, head string, attempt int) []run.Action {
	return []run.Action{run.AssignGates(run.Dispatch{Task: id, Attempt: attempt, Role: spec.RoleTester, Head: head})}
}

// endPreflight keeps the baseline, and what its tester noted of the setup and the gates. The run continues unless nothing that
// it lands could be proven.
func endPreflight(s *run.State, r *spec.Result) []run.Action {
	with := *s
	with.Baseline = map[string]spec.Receipt{}
	receipts := slices.Clone(r.Receipts)
	for i := range receipts {
		// Every assignment holds the baseline, and no task is to blame for it.
		receipts[i].Paths, receipts[i].Imports = nil, nil
		with.Baseline[receipts[i].Gate] = receipts[i]
	}
	d := run.Data{Baseline: receipts, Unverified: acceptance.Unverified(&with), Notices: slices.Clone(r.Handoff.Deviations)}
	for _, g := range acceptance.Incomparables(&with) {
		d.Notices = append(d.Notices, g.String())
	}
	if acceptance.Unproven(&with) {
		return []run.Action{run.SetRun(d), run.Fail{Err: fmt.Errorf("%w: %s", acceptance.ErrUnverified, d.Unverified)}}
	}
	if d.State = run.Running; s.Spec.Plan == nil {
		d.State = run.Planning
	}
	return []run.Action{run.SetRun(d)}
}

// Resumed is the phase in which a stopped run continues.
func Resumed(s *run.State) run.Status {
	switch {
	case !prepared(s):
		return run.Preflight
	case len(s.Plans) == 0 && s.Spec.Plan == nil:
		return run.Planning
	default:
		return run.Running
	}
}

// prepared reports whether preflight is complete: setup succeeded, every gate has its baseline, and the run may continue with it.
func prepared(s *run.State) bool {
	p := s.Spec.Project
	if acceptance.Unproven(s) {
		return false
	}
	if len(p.Gates) == 0 && len(p.Setup.Command) > 0 {
		r := s.Settled(run.BaselineTask)
		return r != nil && r.Status == spec.StatusDone
	}
	return len(s.Baseline) >= len(p.Gates)
}
