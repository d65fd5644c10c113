package act

import (
	"fmt"
	"time"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// HoldBack is how long a run holds such an act back, for those who ask a person meanwhile.
const HoldBack = run.HoldBack

// Held is an act that a person has sent by hand: the run holds it back, and the person can take it back meanwhile.
type Held struct{ Args }

// ByHand has the run hold an act back where the table says so.
func ByHand(a Args) Args {
	if e := table[a.Act()]; e != nil && e.Holds {
		return Held{a}
	}
	return a
}

// hold puts off what an act does. An answer is given, and the run acts on it later; of another act the run keeps what it is. The
// answer to a plan is not held back.
func (o *Outcome) hold(s *run.State, a Args, by string, actions []run.Action, until time.Time) ([]run.Action, error) {
	for _, action := range actions {
		if d := decision.Given(action); d != nil {
			if d.Kind != run.DecidePlan {
				d.Answer.NotBefore = until
				o.holds(d.Answer.ID)
			}
			return actions, nil
		}
	}
	d := run.Decided{Answer: run.Answer{Option: a.Act(), By: by}}
	switch a := a.(type) {
	case Skip:
		d.With, d.Answer.Text = a.Tasks, a.Reason
	case Send:
		d.About, d.Answer.Text = a.Task, a.Text
	default:
		return actions, nil
	}
	actions, id, err := decision.Later(s, d, until)
	if err == nil {
		o.holds(id)
	}
	return actions, err
}

func (o *Outcome) holds(id string) {
	o.Held = append(o.Held, id)
	o.Text += fmt.Sprintf(" (held back for %d seconds as %s)", int(run.HoldBack.Seconds()), id)
}
