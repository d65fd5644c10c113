package decision

import (
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// template is a template whose shards fail alike.
var template = kind{
	name: run.DecideTemplate,
	open: func(s *run.State) (out []run.Decision) {
		for _, h := range s.Templates.Holds() {
			out = append(out, alike(&s.Agenda, &s.Agents, h))
		}
		return out
	},
	waits: func(templates *run.Templates, d *run.Decision, t *run.Task) bool {
		h := templates.Held[t]
		return h != nil && h.Pos == d.Pos
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) (actions []run.Action, outcome string, err error) {
		switch a.Option {
		case run.Park:
			actions, err = request.Cancel(&s.Agenda, s.Works, d.About, a.Text, a.By)
			return actions, "the tasks of " + d.About + " that wait are parked", err
		case run.Accept:
			actions, err = request.Accept(&s.Agenda, s.Works, d.About, a)
			return actions, "the tasks of " + d.About + " go on", err
		default:
			return request.Send(&s.Agenda, &s.Agents, d.About, a.Text, a.By)
		}
	},
	policy: func(agenda *run.Agenda, _ run.Works, d *run.Decision, accept bool) []run.Action {
		return request.RuleHold(agenda, agenda.Templates.Of[d.About].Open(), accept)
	},
	send: run.Revise,
}

func alike(agenda *run.Agenda, agents *run.Agents, h *run.Hold) run.Decision {
	d := run.Decision{
		ID: run.DecisionID(h.Template, h.Pos), About: h.Template, Pos: h.Pos,
		Text: "a decision about the template " + h.Template + ": " + h.Why(), Evidence: []string{h.Why()},
		Options: []run.Option{
			{Name: run.Accept, Does: "they continue as they are"},
			{Name: run.Revise, Does: "add your words to their brief and start them again", NeedsText: true},
			{Name: run.Park, Does: "park those that wait"},
		},
		Suggests: run.Revise,
	}
	d.Decider, d.Why = decider(&agenda.Spec, agents, h.Pos, true)
	if request.PlanAfter(&agenda.Plans, agents.Works, h) >= 0 {
		d.Decider, d.Why = run.ByMaster, "it has planned tasks that go first"
	}
	return d
}
