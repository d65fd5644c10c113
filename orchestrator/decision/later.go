package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// later is an act of a person that the run holds back: tasks to skip, or a message. Nothing is asked about it: it is listed
// until it is done, or taken back.
var later = kind{
	name: run.DecideAct,
	open: func(s *run.State) (out []run.Decision) {
		for _, d := range s.Decisions.Waiting() {
			if d.Kind == run.DecideAct {
				out = append(out, run.Decision{
					ID: d.Answer.ID, About: d.About, Tasks: d.With, Pos: d.Pos, Decider: run.ByPerson,
					Text: d.Answer.Option + " " + text.Some(append(slices.Clone(d.With), d.About), maxNamed),
				})
			}
		}
		return out
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		if a.Option == run.Skip {
			return skipLeft(s, d.Tasks, a)
		}
		return request.Message(&s.Agenda, &s.Agents, d.About, a.Text, a.By)
	},
}

// skipLeft skips what can still be skipped of what a person has named, and notes what cannot.
func skipLeft(s *run.State, refs []string, a run.Answer) ([]run.Action, string, error) {
	var left, not []string
	for _, ref := range refs {
		_, _, whole := request.Skip(&s.Agenda, s.Works, []string{ref}, run.Revision{}, "")
		var landing []string
		for _, id := range s.Tasks.Members(ref) {
			_, _, err := request.Skip(&s.Agenda, s.Works, []string{id}, run.Revision{}, "")
			switch {
			case err == nil:
				left = append(left, id)
			case !s.Tasks.ByID[id].Ended():
				landing = append(landing, err.Error())
			}
		}
		if whole != nil && len(landing) == 0 {
			landing = []string{whole.Error()}
		}
		not = append(not, landing...)
	}
	if len(left) == 0 {
		return nil, "", request.Refusedf("%s", strings.Join(not, "; "))
	}
	actions, skipped, err := request.Skip(&s.Agenda, s.Works, left, run.Revision{By: a.By}, Because(a.Text))
	if len(not) > 0 {
		actions = append(actions, run.SetRun(run.Data{Notices: []string{"not skipped: " + strings.Join(not, "; ")}}))
	}
	return actions, "skipped: " + text.Some(skipped, maxNamed), err
}

// Because is why a person skips tasks, for the log.
func Because(reason string) string { return strings.TrimSuffix("by a person: "+reason, ": ") }

// Later has the run hold an act of a person back: skip, or send where there is no question to answer. It is refused with a
// *request.RefusedError where the run holds the same one back already, as after a second tap.
func Later(s *run.State, d run.Decided, until time.Time) ([]run.Action, string, error) {
	for _, had := range s.Decisions.Waiting() {
		same := had.Kind == run.DecideAct && had.About == d.About && slices.Equal(had.With, d.With)
		if same && had.Answer.Option == d.Answer.Option && had.Answer.Text == d.Answer.Text {
			return nil, "", request.Refusedf("%s by %s is there already, as %s", had.Answer.Option, had.Answer.By, had.Answer.ID)
		}
	}
	d.Kind, d.Answer.ID, d.Answer.NotBefore = run.DecideAct, fmt.Sprintf("held-%d", s.Pos+1), until
	return []run.Action{decided(&d)}, d.Answer.ID, nil
}

// Given is the answer that an action puts into the log; nil for none.
func Given(a run.Action) *run.Decided {
	event, _ := a.(run.Append)
	data, _ := event.Data.(run.Data)
	if d := data.Decision; d != nil && d.Answer.ID != "" && !d.Closed && d.Back == "" {
		return d
	}
	return nil
}

// Apply has the run hold an answer, or an act, back no longer. The error is a *request.RefusedError.
func Apply(s *run.State, id string) ([]run.Action, string, error) {
	given := s.Decisions.Given(id)
	switch {
	case given == nil:
		_, err := find(s, Open(s), run.Answer{ID: id})
		if err == nil {
			err = request.Refusedf("%s has no answer", id)
		}
		return nil, "", err
	case given.Closed || given.Answer.NotBefore.IsZero():
		return nil, "", request.Refusedf("the run does not hold %s back: %s", id, said(given))
	}
	now := *given
	now.Answer.NotBefore = time.Time{}
	return []run.Action{decided(&now)}, "no longer held back: " + said(&now), nil
}
