package decision

import (
	"cmp"
	"fmt"
	"slices"

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

// held are the decisions about held patches: one about all shards of a template with findings of the same kinds.
func held(agenda *run.Agenda, agents *run.Agents, missing bool) (out []run.Decision) {
	var tasks []*run.Task
	for t := range agenda.Tasks.In(run.TaskHeld) {
		d := t.Doubt()
		first := !d.Review || agenda.Tasks.Reviewing(t)[0] == t
		if first && d.Unread == nil && d.Unlike == nil && (d.Missing != nil) == missing {
			tasks = append(tasks, t)
		}
	}
	for _, given := range agents.Decisions.Waiting() {
		var g group
		if given.Kind != run.DecidePatch && given.Kind != run.DecideTest {
			continue
		}
		if g, tasks = answered(given, tasks); len(g.tasks) == 0 {
			continue
		}
		t := g.oldest()
		d := about(agenda, agents, t, t.Doubt())
		if given.About == "" {
			g.ask(&d)
			d.ID = given.Answer.ID
		}
		out = append(out, d)
	}
	for _, g := range groups(&agenda.Spec, agents, tasks) {
		t := g.oldest()
		d := about(agenda, agents, t, t.Doubt())
		if len(g.tasks) > 1 {
			g.ask(&d)
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b run.Decision) int { return cmp.Compare(a.Pos, b.Pos) })
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

// rule acts on the answer to a decision about one patch, or about each of a group.
func rule(s *run.State, d *run.Decision, a run.Answer) (actions []run.Action, outcome string, err error) {
	tasks := []string{cmp.Or(a.Of, d.About)}
	if tasks[0] == "" {
		tasks = d.Tasks
	}
	if a.Option == run.Skip {
		actions, _, err = request.Skip(&s.Agenda, s.Works, tasks, run.Revision{By: a.By}, cmp.Or(a.Text, "by a person"))
		return actions, text.Some(tasks, maxNamed) + " is skipped", err
	}
	for _, task := range tasks {
		var one []run.Action
		if a.Option == run.Accept {
			one, err = request.Accept(&s.Agenda, s.Works, task, a)
			outcome = "the patch of " + task + " goes on"
		} else {
			one, outcome, err = request.Send(&s.Agenda, &s.Agents, task, a.Text, a.By)
		}
		if err != nil {
			return nil, "", err
		}
		actions = append(actions, one...)
	}
	if len(tasks) > 1 {
		outcome = fmt.Sprintf("%s of %s, %s", a.Option, text.Count(len(tasks), "shard"), text.Some(tasks, maxNamed))
	}
	return actions, outcome, nil
}

// judge accepts or rejects patches. No policy rejects one for its size: that is noted.
func judge(agenda *run.Agenda, works run.Works, d *run.Decision, accept bool) (actions []run.Action) {
	for _, id := range d.Tasks {
		t, a := agenda.Tasks.ByID[id], run.Answer{Option: run.Reject, By: run.ByPolicy}
		if accept || t.Doubt().Size {
			a.Option = run.Accept
		}
		actions = append(actions, recovery.Decide(agenda, works, t, a)...)
	}
	return actions
}
