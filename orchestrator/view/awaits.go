package view

import (
	"strings"

	"divisi/orchestrator/run"
)

// What a run can wait for.
const (
	OnDecision = "decision"
	OnPerson   = "person"
	OnMachine  = "machine"
	OnQuota    = "quota"
)

// Awaits returns what a run waits for, one of On…, and what that is; both are "" where it waits for nothing.
func (r *Report) Awaits() (on, what string) {
	if r.State.Ended() && r.State != run.Stopped {
		return "", ""
	}
	if r.Line != "" {
		return OnPerson, "the line is stopped: " + r.Line
	}
	for _, d := range r.Decisions {
		if d.Answer == nil && d.Decider == run.ByPerson {
			return OnDecision, d.Text
		}
	}
	why, waits := strings.CutPrefix(r.Reason, run.ReasonWaits)
	halted, paused := strings.CutPrefix(r.Reason, run.ReasonHalt)
	switch {
	case r.Wait != "":
		return OnDecision, r.Wait
	case r.State == run.Stopped && waits:
		return OnDecision, why
	case len(r.Quotas) > 0:
		var all []string
		for _, q := range r.Quotas {
			all = append(all, q.String())
		}
		return OnQuota, strings.Join(all, "; ")
	case r.State == run.Stopped:
		return OnPerson, r.Reason
	case paused:
		return OnMachine, halted
	}
	return "", ""
}
