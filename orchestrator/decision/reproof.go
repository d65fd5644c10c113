package decision

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// reproof is a batch that two workers have proven, one green and one red.
var reproof = kind{
	name: run.DecideReproof,
	open: func(s *run.State) (out []run.Decision) {
		for _, l := range s.Batches.Seconds() {
			if l.Second.State == run.SecondDiffers {
				out = append(out, differs(l))
			}
		}
		return out
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		for _, l := range s.Batches.Seconds() {
			if l.Second.State != run.SecondDiffers || l.Second.Pos != d.Pos {
				continue
			}
			if a.Option == run.Trust {
				return []run.Action{run.SetRun(run.Data{Reproved: &run.Reproved{Batch: l.Batch, State: run.SecondTrusted}})},
					fmt.Sprintf("batch %d counts as proven", l.Batch), nil
			}
			var actions []run.Action
			for _, worker := range l.Provers() {
				actions = append(actions, run.Isolate{Quarantine: run.Quarantine{Worker: worker, By: a.By}})
			}
			return actions, "nothing that " + strings.Join(l.Provers(), ", ") + " has proven counts", nil
		}
		return nil, "", request.Refusedf("%s is decided", d.About)
	},
}

func differs(l *run.Landing) run.Decision {
	about, first, second := fmt.Sprintf("batch-%d", l.Batch), strings.Join(l.Provers(), ", "), l.Second.Worker
	return run.Decision{
		ID: run.DecisionID(about, l.Second.Pos), About: about, Pos: l.Second.Pos,
		Text: fmt.Sprintf("a decision about batch %d: its gates passed on worker %s, and failed on worker %s",
			l.Batch, first, second),
		Evidence: []string{
			fmt.Sprintf("on worker %s: %s", second, text.Line(l.Second.Fault.Message)),
			"in it have landed: " + text.Some(run.Names(l.Tasks), maxNamed),
		},
		Options: []run.Option{
			{Name: run.Trust, Does: fmt.Sprintf("trusts worker %s: a test is flaky, or worker %s is at fault", first, second)},
			{Name: run.Quarantined, Does: fmt.Sprintf(
				"puts worker %s into quarantine in this run: its proofs are repeated", first)},
		},
		Decider: run.ByPerson, Why: "one of two workers is wrong", Reserved: true,
	}
}
