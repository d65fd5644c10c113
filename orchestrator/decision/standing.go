package decision

import (
	"fmt"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Stand takes an answer that accepts a patch, and from then on each other one of its shape in the run, held now or later. It is
// refused with a *request.RefusedError for another option, and for a patch that stands alone, whose shape is "".
func Stand(s *run.State, a run.Answer, shape string) ([]run.Action, string, error) {
	given, outcome, err := take(s, a)
	switch {
	case err != nil:
		return nil, "", err
	case a.Option != run.Accept:
		return nil, "", request.Refusedf("%s is for one decision: only %s can be for every other one that is alike",
			a.Option, run.Accept)
	case given.Kind != run.DecidePatch && given.Kind != run.DecideTest:
		return nil, "", request.Refusedf("%s is about no patch: only the answer to a patch can be for every "+
			"other one that is alike", a.ID)
	case shape == "":
		return nil, "", request.Refusedf("no other patch is alike to that of %s: it is one of several, cannot be shown, or has "+
			"a binary file, a rename or a link. Accept it without the others", a.ID)
	}
	stands := run.StandingAnswer{ID: given.Answer.ID, Shape: shape, By: a.By}
	return []run.Action{run.SetRun(run.Data{Decision: given, Standing: &stands})},
		outcome + ", and each other one that is alike, until you take the answer to " + a.ID + " back", nil
}

// Follow gives a decision about a patch of a shape the answer that stands for it; no action where none does.
func Follow(s *run.State, d *run.Decision, shape string) []run.Action {
	stands := s.Standing.For(d.ID, shape)
	if stands == nil {
		return nil
	}
	if first := s.Decisions.Given(stands.ID); first != nil && !first.Closed && !first.Answer.NotBefore.IsZero() {
		return nil // it can be taken back still
	}
	actions, _, err := Take(s, run.Answer{
		ID: d.ID, Attempt: d.Attempt, Option: run.Accept, By: stands.By, Standing: stands.ID,
	})
	if err != nil { // it stays open for a person
		return nil
	}
	return actions
}

// By adds to the words for an answer that it stands for others, or that another one stood for it.
func By(how string, a *run.Answer) string {
	switch {
	case a.Alike:
		return how + " for all that are alike"
	case a.Standing != "":
		return fmt.Sprintf("%s, as all that are alike to %s", how, a.Standing)
	}
	return how
}
