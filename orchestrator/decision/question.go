package decision

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// question is an agent's question.
var question = kind{
	name: run.DecideQuestion,
	open: func(s *run.State) []run.Decision {
		return asked(s, func(q *run.Request) bool { return q.Kind == wire.RequestAsk }, asks)
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		for _, q := range s.OpenRequests(&s.Tasks) {
			if q.Pos == d.Pos {
				actions, outcome := request.Reply(q, a.Text, a.By)
				return actions, outcome, nil
			}
		}
		return nil, "", request.Refusedf("%s does not wait for it any more", d.About)
	},
	send: run.Reply,
}

// scope is protected files that an agent asks to write.
var scope = kind{
	name: run.DecideScope,
	open: func(s *run.State) []run.Decision {
		return asked(s, func(q *run.Request) bool { return request.ForPerson(&s.Spec, q) }, write)
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		for _, q := range s.OpenRequests(&s.Tasks) {
			switch {
			case q.Pos != d.Pos:
			case a.Option == run.Grant:
				return request.Grant(&s.Agenda, q, a.By)
			default:
				actions, outcome := request.Deny(q, a.Text, a.By)
				return actions, outcome, nil
			}
		}
		return nil, "", request.Refusedf("%s does not wait for it any more", d.About)
	},
}

// asked are the decisions about some open requests.
func asked(
	s *run.State, is func(*run.Request) bool, as func(*run.Spec, *run.Agents, *run.Request) run.Decision) (out []run.Decision,
) {
	for _, q := range s.OpenRequests(&s.Tasks) {
		if is(q) {
			d := as(&s.Spec, &s.Agents, q)
			d.ID, d.About = run.DecisionID(q.AskedBy(), q.Pos), q.AskedBy()
			d.Attempt, d.Pos = q.Attempt, q.Pos
			out = append(out, d)
		}
	}
	return out
}

func asks(order *run.Spec, agents *run.Agents, q *run.Request) run.Decision {
	d := run.Decision{
		Text: "an answer to " + q.Agent() + ": " + text.Line(q.Question), Choices: q.Options,
		Options: []run.Option{{Name: run.Reply, Does: "send your words to the agent", NeedsText: true}},
	}
	d.Decider, d.Why = decider(order, agents, q.Pos, false)
	if q.Of == run.MasterTask {
		d.Decider, d.Why = run.ByPerson, "the master asks"
	}
	return d
}

func write(_ *run.Spec, _ *run.Agents, q *run.Request) run.Decision {
	paths := strings.Join(q.Paths, ", ")
	return run.Decision{
		Text: fmt.Sprintf("a decision about write access of %s to the protected %s: %s",
			q.Agent(), paths, text.Quote(q.Reason)),
		Evidence: []string{"protected: " + paths},
		Options: []run.Option{
			{Name: run.Grant, Does: "let its task write them"},
			{Name: run.Refuse, Does: "your words go to the agent", NeedsText: true},
		},
		Suggests: run.Refuse, Reserved: true,
		Decider: run.ByPerson, Why: "only a person or a master unlocks protected files",
	}
}
