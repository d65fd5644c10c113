package act

import (
	"fmt"
	"regexp"
	"time"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// HoldBack is how long a run holds back what a person has sent by hand.
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
func hold(s *run.State, a Args, by string, actions []run.Action, outcome string, until time.Time) ([]run.Action, string, error) {
	for _, action := range actions {
		if d := decision.Given(action); d != nil {
			if d.Kind == run.DecidePlan {
				return actions, outcome, nil
			}
			d.Answer.NotBefore = until
			return actions, heldAs(outcome, d.Answer.ID), nil
		}
	}
	d := run.Decided{Answer: run.Answer{Option: a.Act(), By: by}}
	switch a := a.(type) {
	case Skip:
		d.With, d.Answer.Text = a.Tasks, a.Reason
	case Send:
		d.About, d.Answer.Text = a.Task, a.Text
	default:
		return actions, outcome, nil
	}
	actions, id, err := decision.Later(s, d, until)
	return actions, heldAs(outcome, id), err
}

func heldAs(outcome, id string) string {
	return fmt.Sprintf("%s "+heldBegins+" for %d seconds as %s)", outcome, int(run.HoldBack.Seconds()), id)
}

// heldBegins begins what a run adds to an outcome.
const heldBegins = "(held back"

var heldIDs = regexp.MustCompile(regexp.QuoteMeta(heldBegins) + ` for \d+ seconds as (\S+)\)`)

// HeldIn are the ids under which a run holds back what outcomes tell.
func HeldIn(outcome string) (ids []string) {
	for _, m := range heldIDs.FindAllStringSubmatch(outcome, -1) {
		ids = append(ids, m[1])
	}
	return ids
}
