package phase

import (
	"fmt"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// Others compares with the baseline what the gates found on the base commit in another environment, once for each environment.
// Its proofs count where they let nothing through that the baseline refuses.
func Others(s *run.State) []run.Action {
	receipts := s.Proofs.NextMade()
	if receipts == nil {
		return nil
	}
	return []run.Action{proof.Compare{Receipts: receipts, Then: func(d proof.Difference) []run.Action {
		o := run.Other{Environment: receipts[0].Environment, Baseline: map[string]spec.Receipt{}, Lacks: few(d.Lost)}
		for _, r := range receipts {
			o.Baseline[r.Gate] = r.Bare()
		}
		return []run.Action{run.SetRun(run.Data{Other: &o, Notices: differs(&o, receipts[0].Worker, few(d.Gained))})}
	}}}
}

// maxDiffer bounds, in characters, the name of what differs between two environments.
const maxDiffer = 300

// few are the first of what differs, bounded.
func few(list []string) []string {
	list = text.Few(list, maxNamed)
	for i := range list {
		list[i] = text.Short(text.OneLine(list[i]), maxDiffer)
	}
	return list
}

// differs names what differs on the base commit between the environment of the baseline and another one.
func differs(o *run.Other, worker string, gained []string) []string {
	who := fmt.Sprintf("the environment of worker %s (%.12s)", worker, o.Environment)
	notices := []string{"the gates ran on the base commit in another environment too, " + who}
	if len(o.Lacks) > 0 {
		notices = append(notices, fmt.Sprintf("on the base commit these pass in the first environment, and not in %s, which "+
			"proves nothing because of that: %s", who, text.Some(o.Lacks, maxNamed+1)))
	}
	if len(gained) > 0 {
		notices = append(notices, fmt.Sprintf("on the base commit these pass in %s, and not in the first one: %s", who,
			text.Some(gained, maxNamed+1)))
	}
	return notices
}
