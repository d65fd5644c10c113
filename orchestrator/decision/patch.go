package decision

import (
	"cmp"
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// patch is a held patch; under review, those of its whole change set.
var patch = kind{
	name:   run.DecidePatch,
	open:   func(s *run.State) []run.Decision { return held(s, false) },
	carry:  rule,
	closed: ruled,
	policy: judge,
	send:   Reject,
}

// test is a patch with which tests of the base commit do not run any more.
var test = kind{
	name:   run.DecideTest,
	open:   func(s *run.State) []run.Decision { return held(s, true) },
	carry:  rule,
	closed: ruled,
	policy: judge,
	send:   Reject,
}

func held(s *run.State, missing bool) (out []run.Decision) {
	for t := range s.Tasks.In(run.TaskHeld) {
		if d := t.Doubt(); (d.Missing != nil) == missing && (!d.Review || s.Tasks.Reviewing(t)[0] == t) {
			out = append(out, about(s, t, d))
		}
	}
	return out
}

func about(s *run.State, t *run.Task, doubt *run.Doubt) run.Decision {
	name := t.Task.ID
	d := run.Decision{
		ID: run.DecisionID(name, doubt.Pos), About: name, Attempt: t.Attempt, Pos: doubt.Pos,
		Text:     "a decision about the patch of " + name + ": " + text.Line(doubt.Evidence[0]),
		Evidence: doubt.Evidence, Patches: []string{name}, Decider: decider(s, doubt.Pos, true),
		Options: []run.Option{
			{Name: Accept, Does: "lets the patch go on"},
			{Name: Reject, Does: "rejects it, and the next attempt gets the sentence", Words: true},
			{Name: Skip, Does: "gives the task up as not needed"},
		},
	}
	switch {
	case doubt.Missing != nil:
		d.Suggested = Reject
	case doubt.Size:
		d.Suggested = Accept
	}
	if !doubt.Review {
		return d
	}
	d.Decider = run.Decider{Who: run.ByPerson, Why: "a person sees each patch of this run"}
	if set := s.Tasks.Set(t); set != nil {
		for _, o := range s.Tasks.Reviewing(t) { // each patch makes it another decision
			d.Pos = max(d.Pos, o.Doubt().Pos)
		}
		d.ID = run.DecisionID(name, d.Pos)
		d.Text = "a decision about the change set " + set.Name + ": " + text.Line(doubt.Evidence[0])
		d.Options = d.Options[:2]
		d.Patches = nil
		for _, o := range set.Members {
			if o.Result != nil && o.Result.Patch != nil {
				d.Patches = append(d.Patches, o.Task.ID)
			}
		}
	}
	return d
}

func rule(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
	task := cmp.Or(a.Of, d.About)
	switch a.Option {
	case Skip:
		actions, _, err := request.Skip(s, []string{task}, run.Revision{By: a.By}, cmp.Or(a.Text, "by a person"))
		return actions, task + " is skipped", err
	case Accept:
		actions, err := request.Accept(s, task, a.By)
		return actions, "the patch of " + task + " goes on", err
	default:
		return request.Send(s, task, a.Text, a.By)
	}
}

// judge accepts or rejects a patch. No policy rejects one for its size: that is noted.
func judge(s *run.State, d *run.Decision, accept bool) []run.Action {
	t := s.Tasks.ByID[d.About]
	return acceptance.Rule(s, t, run.Ruling{By: run.ByPolicy, Accept: accept || t.Doubt().Size})
}

// ruled is how the decision about a patch ended, also where another patch of its change set has the position.
func ruled(s *run.State, task, id string) string {
	t := s.Tasks.ByID[task]
	if t == nil {
		return ""
	}
	members := []*run.Task{t}
	if set := s.Tasks.Set(t); set != nil {
		members = set.Members
	}
	for _, m := range members {
		at := slices.IndexFunc(m.Doubts, func(d run.Doubt) bool { return run.DecisionID(task, d.Pos) == id })
		if at >= 0 {
			return m.Doubts[at].Decision(m.State) + ", and " + m.Task.ID + " is " + string(m.State)
		}
	}
	return ""
}
