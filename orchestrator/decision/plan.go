package decision

import (
	"fmt"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// plan is a plan of the master that writes.
var plan = kind{
	name:  run.DecidePlan,
	open:  func(s *run.State) []run.Decision { return plans(&s.Agenda, &s.Agents) },
	waits: func(_ *run.Templates, d *run.Decision, t *run.Task) bool { return t.Plan == d.Planned },
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		if a.Option == run.Yes {
			if s.MasterHasMail() {
				return nil, "", request.Refusedf("the master has a message to read first: the plan is shown again after its turn")
			}
			return []run.Action{closes(d, a)}, "the plan starts", nil
		}
		if _, _, err := request.Send(&s.Agenda, &s.Agents, run.MasterTask, a.Text, a.By); err != nil {
			return nil, "", err
		}
		return []run.Action{closes(d, a), run.Tell{Work: run.MasterTask}}, "the master gets it, and plans again", nil
	},
}

// closes is the event that closes a decision.
func closes(d *run.Decision, a run.Answer) run.Action {
	return run.SetRun(run.Data{Decision: &run.Decided{Kind: d.Kind, About: d.About, Plan: d.Planned, Answer: a, Closed: true}})
}

// OfPlan is the id of the decision about a plan, by its index; "" where none is open.
func OfPlan(agenda *run.Agenda, agents *run.Agents, at int) string {
	for _, d := range plans(agenda, agents) {
		if d.Planned == at && agents.Decisions.Given(d.ID) == nil {
			return d.ID
		}
	}
	return ""
}

func plans(agenda *run.Agenda, agents *run.Agents) []run.Decision {
	at := agenda.Plans.ToApprove()
	if at < 0 {
		return nil
	}
	now := agenda.Plans.Now(at, &agenda.Tasks)
	changes := len(agenda.Plans.All[at].Tasks) - len(now.Tasks)
	edits := ""
	for _, e := range agenda.Plans.Edits {
		if e.Plan == at { // its tasks are others, whose changes are counted from 0
			edits = fmt.Sprintf(".%d", e.Pos)
		}
	}
	for i := range now.Tasks {
		changes += len(agenda.Tasks.ByID[now.Tasks[i].ID].Revisions)
	}
	d := run.Decision{
		ID: fmt.Sprintf("plan-%d.%d%s", at+1, changes, edits), Planned: at,
		Text: "approval of the plan",
		Options: []run.Option{
			{Name: run.Yes, Does: "start the plan"},
			{Name: run.Change, Does: "your words go to the master", NeedsText: true},
		},
		Decider: run.ByPerson, Why: "the plan writes, and nothing approved it",
	}
	if agents.MasterHasMail() {
		d.Decider, d.Why = run.ByMaster, "it has a message to read first"
	}
	return []run.Decision{d}
}
