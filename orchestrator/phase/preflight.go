package phase

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/gate/missing"
	"divisi/subagents/wire"
)

// ErrPreflight reports that a run could not begin: its setup or its gates could not be run at all.
var ErrPreflight = errors.New(run.ReasonPreflight)

// Preflight has setup run once on the base commit, before any agent begins.
func Preflight(s *run.State) []run.Action {
	switch s.Status {
	case run.Created:
		return []run.Action{run.SetRun(run.Data{State: run.Preflight})}
	case run.Preflight:
		return setup(s)
	default:
		return nil
	}
}

func setup(s *run.State) []run.Action {
	if len(s.Spec.Project.Setup.Command) == 0 {
		return begin(s, &spec.Result{})
	}
	w := s.Works[run.SetupTask]
	if w == nil {
		return assignBase(&s.Spec, s.Works, run.SetupTask)
	}
	switch r := s.Works.Settled(run.SetupTask); {
	case r == nil:
		return nil
	case r.Status != spec.StatusDone:
		return again(&s.Spec, &s.Agents, w, r)
	default:
		return begin(s, r)
	}
}

// begin ends preflight: agents may start. What setup noted is for the people who watch.
func begin(s *run.State, r *spec.Result) []run.Action {
	d := run.Data{State: run.Running, Notices: append(slices.Clone(r.Handoff.Deviations), unprovable(s.Proofs.Unprovable)...)}
	if s.Spec.Plan == nil {
		d.State = run.Planning
	}
	if s.Spec.Trial {
		return prove(s)
	}
	if len(s.Spec.Project.Gates) > 0 {
		return []run.Action{run.SetRun(d)}
	}
	return stopUnproven(s, d)
}

// Baseline has the gates run once on the base commit, while agents work: the baseline. Nothing lands before it is known. They run
// again where a run that continues finds another environment.
func Baseline(s *run.State) []run.Action {
	switch {
	case s.Status != run.Planning && s.Status != run.Running && (s.Status != run.Final || !s.Proofs.Outdated):
		return nil
	case proof.Unproven(&s.Agenda, &s.Proofs):
		return []run.Action{unproven(&s.Agenda, &s.Proofs)}
	case s.Baselined():
		return nil
	}
	return prove(s)
}

// prove returns the next step of the baseline.
func prove(s *run.State) []run.Action {
	w := s.Works[run.BaselineTask]
	switch {
	case s.Proofs.Outdated && (w == nil || w.Attempts[w.Last].Epoch < s.Epoch || w.Attempts[w.Last].Pos < s.Proofs.Distrusted):
		return assignBase(&s.Spec, s.Works, run.BaselineTask)
	case !s.Proofs.Outdated && len(s.Proofs.Baseline) > 0:
		return tryGate(s, s.NewGate())
	case w == nil:
		return recall(s)
	}
	switch r := s.Works.Settled(run.BaselineTask); {
	case r == nil:
		return nil
	case len(r.Receipts) < len(s.Spec.Project.Gates):
		return again(&s.Spec, &s.Agents, w, r)
	default:
		return keepReceipts(s, r)
	}
}

// Recall looks for the baseline that an earlier run left. Then proposes what follows; kept is nil where there is none.
type Recall struct {
	run.Proposal

	Then func(kept *run.KeptBaseline) []run.Action
}

// Keep keeps the baseline for later runs.
type Keep struct{ run.Proposal }

func recall(s *run.State) []run.Action {
	first := assignBase(&s.Spec, s.Works, run.BaselineTask)
	if s.Spec.FreshBaseline {
		return first
	}
	return []run.Action{Recall{Then: func(kept *run.KeptBaseline) []run.Action {
		if kept == nil || len(kept.Receipts) < len(s.Spec.Project.Gates) {
			return first
		}
		d := run.Data{Baseline: kept.Receipts, Flaky: kept.Flaky, Notices: append([]string{fmt.Sprintf(
			"the gates did not run on the base commit: run %s did so %s ago, on commit %s; a fresh baseline runs them again",
			kept.Run, age(s.Time.Sub(kept.Made)), kept.Commit[:min(len(kept.Commit), 12)])}, flakyNotice(kept.Flaky)...)}
		return stopUnproven(s, d)
	}}}
}

// age words how old something is.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return text.Count(int(d.Hours()/24), "day")
	case d >= 2*time.Hour:
		return text.Count(int(d.Hours()), "hour")
	case d >= 2*time.Minute:
		return text.Count(int(d.Minutes()), "minute")
	default:
		return text.Count(max(0, int(d.Seconds())), "second")
	}
}

// again repeats setup or the baseline after a failure of the machine; a setup that fails, and a gate that cannot be run, are the
// user's to fix.
func again(order *run.Spec, agents *run.Agents, w *run.Work, r *spec.Result) []run.Action {
	f := run.FaultOf(r)
	resumed := agents.Epoch > w.Attempts[w.Last].Epoch
	if !resumed && (f.Class == wire.FaultSetup || w.Last >= recovery.MaxGateTries) {
		return []run.Action{run.Fail{Err: fmt.Errorf("%w: %s", ErrPreflight, recovery.Reason(order, f))}}
	}
	return assignBase(order, agents.Works, w.ID)
}

func assignBase(order *run.Spec, works run.Works, id string) []run.Action {
	return works.AssignGates(run.Dispatch{Task: id, Head: order.Base})
}

// keepReceipts keeps the receipts of the base commit, and what the tester noted of the gates.
func keepReceipts(s *run.State, r *spec.Result) []run.Action {
	d := run.Data{Baseline: slices.Clone(r.Receipts), Notices: slices.Clone(r.Handoff.Deviations)}
	for i := range d.Baseline {
		d.Baseline[i] = d.Baseline[i].Bare()
	}
	if s.Proofs.Distrusted > 0 {
		d.Notices = append(d.Notices, "the gates ran on the base commit again: results of a worker in quarantine do not count")
	} else if s.Proofs.Outdated {
		d.Notices = append(d.Notices, "the gates ran on the base commit again: their environment has changed")
	}
	actions := stopUnproven(s, d)
	if slices.ContainsFunc(d.Baseline, func(r spec.Receipt) bool {
		return gate.Incomparable(r) != "" || gate.Empty(r) || missing.Shown(r) // a person can bring it, and no key tells
	}) {
		return actions // another time it may prove more
	}
	return append(actions, Keep{})
}

// stopUnproven completes the event with which the proof of a run is known. The run goes on unless nothing that it lands could be
// proven.
func stopUnproven(s *run.State, d run.Data) []run.Action {
	with := s.WithBaseline(d.Baseline)
	d.Unverified = proof.Unverified(&with.Agenda, &with.Proofs)
	lacks := proof.Lacks(&with.Spec, &with.Proofs)
	for i := range lacks {
		d.Notices = append(d.Notices, lacks[i].String())
	}
	for _, g := range proof.Incomparables(&with.Spec, &with.Proofs) {
		if proof.Covered(&with.Spec, &with.Proofs, g.Gate) {
			d.Notices = append(d.Notices, g.String()+"; the tests prove what it would")
		} else if tasks := with.Mending(g.Gate); len(tasks) > 0 {
			d.Notices = append(d.Notices, fmt.Sprintf("%s; %s should mend it", g.String(), text.Some(tasks, maxNamed)))
		} else if !proof.Explained(lacks, g.Gate) {
			d.Notices = append(d.Notices, g.String())
		}
	}
	for _, name := range with.Spec.GateNames() {
		if tasks := with.Mending(name); len(tasks) > 0 && with.Proofs.Baseline[name].Verdict == spec.VerdictPass &&
			len(with.Through(name)) == 0 {
			d.Notices = append(d.Notices, fmt.Sprintf("gate %s is green on the base commit, so there is nothing to mend: "+
				"take it out of mends of %s", name, text.Some(tasks, maxNamed)))
		}
	}
	for _, g := range proof.GitFailures(&with.Spec, &with.Proofs) {
		d.Notices = append(d.Notices, g.String())
	}
	for _, g := range with.Spec.Project.Gates {
		if why := with.Proofs.Baseline[g.Name].Beyond; why != "" {
			d.Notices = append(d.Notices, text.OneLine(fmt.Sprintf("gate %s starts for every patch, whatever its paths: on the "+
				"base commit %s", g.Name, why)))
		}
	}
	d.Notices = append(d.Notices, skips(&with.Spec, &with.Proofs)...)
	for _, name := range proof.Empty(&with.Spec, &with.Proofs) {
		d.Notices = append(d.Notices, fmt.Sprintf("gate %s runs tests and is green without one: it proves nothing", name))
	}
	told := s.Proofs.Unprovable
	if r := s.Works.SetUp(); s.Spec.Trial && r != nil { // it has not begun, and told nothing yet
		d.Notices, told = append(slices.Clone(r.Handoff.Deviations), d.Notices...), nil
	}
	d.Notices = append(d.Notices, unprovable(slices.DeleteFunc(slices.Clone(with.Proofs.Unprovable), func(u run.Unprovable) bool {
		return slices.Contains(told, u)
	}))...)
	if s.Spec.Trial {
		end := run.Data{State: run.Done, Head: s.Head, Reason: "setup and gates were tried"}
		return []run.Action{run.SetRun(d), run.End{Data: end}}
	}
	if proof.Unproven(&with.Agenda, &with.Proofs) {
		d.State = ""
		return []run.Action{run.SetRun(d), unproven(&with.Agenda, &with.Proofs)}
	}
	return []run.Action{run.SetRun(d)}
}

// skips names, for the people who watch, the tests that gates skip on the base commit: nothing proves what these would.
func skips(order *run.Spec, proofs *run.Proofs) (notices []string) {
	for _, g := range order.Project.Gates {
		r := proofs.Baseline[g.Name]
		if r.Skipped == 0 {
			continue
		}
		line := fmt.Sprintf("gate %s skips %s on the base commit, and a skipped test proves nothing",
			g.Name, text.Count(r.Skipped, "test"))
		if some := text.Few(r.Skips, maxNamed); len(some) > 0 {
			line += ": " + strings.Join(some, "; ")
		}
		notices = append(notices, text.Clip(text.OneLine(line), 2*text.MaxLine))
	}
	return notices
}

// unprovable names, for the people who watch, what no gate can prove, one line for each reason.
func unprovable(parts []run.Unprovable) (notices []string) {
	names := map[string][]string{}
	for _, u := range parts {
		names[u.Why] = append(names[u.Why], u.String())
	}
	for _, why := range slices.Sorted(maps.Keys(names)) {
		some := strings.Join(text.Few(names[why], maxNamed), ", ")
		notices = append(notices, text.OneLine(fmt.Sprintf(
			"no gate proves a change of %s: %s; a patch that changes one of these is asked about, and lands unverified",
			some, why)))
	}
	return notices
}

func unproven(agenda *run.Agenda, proofs *run.Proofs) run.Action {
	return run.Fail{Err: fmt.Errorf("%w: %s", proof.ErrUnverified, proof.Unverified(agenda, proofs))}
}

// Resumed is the phase in which a stopped run continues.
func Resumed(agenda *run.Agenda) run.Status {
	switch {
	case !agenda.Passed[run.Planning] && !agenda.Passed[run.Running]:
		return run.Preflight
	case len(agenda.Plans.All) == 0 && agenda.Spec.Plan == nil:
		return run.Planning
	default:
		return run.Running
	}
}
