package decision

import (
	"cmp"

	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// patch is a held patch; under review, those of its whole change set.
var patch = kind{
	name:   run.DecidePatch,
	open:   func(s *run.State) []run.Decision { return held(&s.Agenda, &s.Agents, false) },
	carry:  rule,
	policy: judge,
	send:   run.Reject,
}

// test is a patch with which tests of the base commit do not run any more.
var test = kind{
	name:   run.DecideTest,
	open:   func(s *run.State) []run.Decision { return held(&s.Agenda, &s.Agents, true) },
	carry:  rule,
	policy: judge,
	send:   run.Reject,
}

func held(agenda *run.Agenda, agents *run.Agents, missing bool) (out []run.Decision) {
	for t := range agenda.Tasks.In(run.TaskHeld) {
		d := t.Doubt()
		ofRun := d.Unread != nil || d.Unlike != nil
		if !ofRun && (d.Missing != nil) == missing && (!d.Review || agenda.Tasks.Reviewing(t)[0] == t) {
			out = append(out, about(agenda, agents, t, d))
		}
	}
	return out
}

func about(agenda *run.Agenda, agents *run.Agents, t *run.Task, doubt *run.Doubt) run.Decision {
	asked, pos := agenda.Tasks.Asked(t)
	d := run.Decision{
		ID: asked.Answer.ID, About: asked.About, Attempt: t.Attempt, Pos: pos,
		Text:     "a decision about the patch of " + t.Task.ID + ": " + text.Line(doubt.Evidence[0]),
		Evidence: doubt.Evidence, Tasks: []string{t.Task.ID},
		Options: []run.Option{
			{Name: run.Accept, Does: "it goes to the landing queue"},
			{Name: run.Reject, Does: "your words go to the next attempt", NeedsText: true},
			{Name: run.Skip, Does: "do without it; dependent tasks continue"},
		},
	}
	d.Decider, d.Why = decider(&agenda.Spec, agents, doubt.Pos, true)
	switch {
	case doubt.Missing != nil:
		d.Suggests = run.Reject
	case doubt.Size:
		d.Suggests = run.Accept
	}
	if !doubt.Review {
		return d
	}
	d.Decider, d.Why, d.Reserved = run.ByPerson, "a person sees each patch of this run", true
	if set := agenda.Tasks.Set(t); set != nil {
		d.Text = "a decision about the change set " + set.Name + ": " + text.Line(doubt.Evidence[0])
		d.Options = d.Options[:2]
		d.Tasks = nil
		for _, o := range set.Members {
			if o.Result != nil && o.Result.Patch != nil {
				d.Tasks = append(d.Tasks, o.Task.ID)
			}
		}
	}
	return d
}

func rule(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
	task := cmp.Or(a.Of, d.About)
	switch a.Option {
	case run.Skip:
		actions, _, err := request.Skip(&s.Agenda, s.Works, []string{task}, run.Revision{By: a.By}, cmp.Or(a.Text, "by a person"))
		return actions, task + " is skipped", err
	case run.Accept:
		actions, err := request.Accept(&s.Agenda, s.Works, task, a)
		return actions, "the patch of " + task + " goes on", err
	default:
		return request.Send(&s.Agenda, &s.Agents, task, a.Text, a.By)
	}
}

// judge accepts or rejects a patch. No policy rejects one for its size: that is noted.
func judge(agenda *run.Agenda, works run.Works, d *run.Decision, accept bool) []run.Action {
	t, a := agenda.Tasks.ByID[d.About], run.Answer{Option: run.Reject, By: run.ByPolicy}
	if accept || t.Doubt().Size {
		a.Option = run.Accept
	}
	return recovery.Decide(agenda, works, t, a)
}
