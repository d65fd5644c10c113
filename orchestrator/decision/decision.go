// Package decision lists what the policy of a run, its master or a person must decide, and carries out the answers. Every such
// thing is one run.Decision: how it is asked on a terminal, shown in a report and answered by a request is the same for all
// kinds.
package decision

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// The names of the options.
const (
	Accept = "accept" // the patch, or the shards of the template, go on
	Reject = "reject" // the patch; the next attempt gets the words
	Skip   = "skip"   // the task is given up as not needed
	Reply  = "answer" // a question
	Grant  = "grant"  // the task may write what its agent asks for
	Refuse = "refuse" // it may not; the agent gets the words
	Revise = "revise" // the shards begin again with the words in their briefs
	Park   = "park"   // the shards that wait are given up
	Yes    = "approve"
	Change = "change" // the master plans again, with the words
)

// Open lists the open decisions: plans first, then questions, held patches and held templates, each oldest first. Blocks is not
// set: see Count.
func Open(s *run.State) []run.Decision {
	out := plans(s)
	for _, q := range s.OpenRequests() {
		switch {
		case q.Kind == wire.RequestAsk:
			out = append(out, question(s, q))
		case request.ForPerson(s, q):
			out = append(out, scope(q))
		}
	}
	for t := range s.Tasks.In(run.TaskHeld) {
		if d := t.Doubt(); !d.Review || s.Tasks.Reviewing(t)[0] == t {
			out = append(out, patch(s, t, d))
		}
	}
	for _, h := range s.Templates.Holds() {
		out = append(out, template(s, h))
	}
	return out
}

// ForPerson are the open ones that only a person can decide.
func ForPerson(s *run.State) []run.Decision {
	return slices.DeleteFunc(Open(s), func(d run.Decision) bool { return d.Decider.Who != run.ByPerson })
}

// decider is who decides about what came at a position of the log: the master while its turn with it has not ended, then the
// policy of the run, then a person.
func decider(s *run.State, pos uint64, ruled bool) run.Decider {
	switch {
	case s.ForMaster(pos):
		return run.Decider{Who: run.ByMaster, Why: "its turn with it has not ended"}
	case ruled && (s.Spec.OnDoubt == run.OnDoubtAccept || s.Spec.OnDoubt == run.OnDoubtReject):
		return run.Decider{Who: run.ByRule, Why: "the run was started to " + s.Spec.OnDoubt + " what is doubted"}
	case s.Spec.Plan != nil:
		return run.Decider{Who: run.ByPerson, Why: "the run has a plan file and no master"}
	}
	return run.Decider{Who: run.ByPerson, Why: "the master left it open"}
}

func plans(s *run.State) []run.Decision {
	at := s.Plans.ToApprove()
	if at < 0 {
		return nil
	}
	now := s.Plans.Now(at, &s.Tasks)
	changes := len(s.Plans.All[at].Tasks) - len(now.Tasks)
	for _, e := range s.Plans.Edits {
		if e.Plan == at {
			changes++
		}
	}
	d := run.Decision{
		ID: fmt.Sprintf("plan-%d.%d", at+1, changes+revisions(s, now)), Kind: run.DecidePlan, Plan: at,
		Text: "approval of the plan",
		Options: []run.Option{
			{Name: Yes, Does: "starts the plan"},
			{Name: Change, Does: "sends it back to the master with the sentence", Words: true},
		},
		Decider: run.Decider{Who: run.ByPerson, Why: "the plan writes, and nothing approved it"},
	}
	if s.MasterHasMail() {
		d.Decider = run.Decider{Who: run.ByMaster, Why: "it has a message to read first"}
	}
	return []run.Decision{d}
}

// revisions counts how often the tasks of a plan were changed.
func revisions(s *run.State, p run.PlanData) (n int) {
	for i := range p.Tasks {
		n += len(s.Tasks.ByID[p.Tasks[i].ID].Revisions)
	}
	return n
}

func question(s *run.State, q *run.Request) run.Decision {
	d := run.Decision{
		ID: id(q.AskedBy(), q.Pos), Kind: run.DecideQuestion, About: q.AskedBy(), Attempt: q.Attempt, Pos: q.Pos,
		Text: "an answer to " + q.Agent() + ": " + text.Line(q.Question), Choices: q.Options,
		Options: []run.Option{{Name: Reply, Does: "goes to the agent", Words: true}},
		Decider: decider(s, q.Pos, false),
	}
	if q.Of == run.MasterTask {
		d.Decider = run.Decider{Who: run.ByPerson, Why: "the master asks"}
	}
	return d
}

func scope(q *run.Request) run.Decision {
	paths := strings.Join(q.Paths, ", ")
	return run.Decision{
		ID: id(q.AskedBy(), q.Pos), Kind: run.DecideScope, About: q.AskedBy(), Attempt: q.Attempt, Pos: q.Pos,
		Text: fmt.Sprintf("a decision about write access of %s to the protected %s: %s",
			q.Agent(), paths, text.Quote(q.Reason)),
		Evidence: []string{"protected: " + paths},
		Options: []run.Option{
			{Name: Grant, Does: "lets its task write them"},
			{Name: Refuse, Does: "refuses it, and the agent gets the sentence", Words: true},
		},
		Suggested: Refuse, Decider: run.Decider{Who: run.ByPerson, Why: "only a person or a master unlocks protected files"},
	}
}

// patch is about a held patch; under review, about those of its whole change set.
func patch(s *run.State, t *run.Task, doubt *run.Doubt) run.Decision {
	name := t.Task.ID
	d := run.Decision{
		ID: id(name, doubt.Pos), Kind: run.DecidePatch, About: name, Attempt: t.Attempt, Pos: doubt.Pos,
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
		d.Kind, d.Suggested = run.DecideTest, Reject
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
		d.ID = id(name, d.Pos)
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

func template(s *run.State, h *run.Hold) run.Decision {
	d := run.Decision{
		ID: id(h.Template, h.Pos), Kind: run.DecideTemplate, About: h.Template, Pos: h.Pos,
		Text: "a decision about the template " + h.Template + ": " + h.Why(), Evidence: []string{h.Why()},
		Options: []run.Option{
			{Name: Accept, Does: "lets the tasks go on"},
			{Name: Revise, Does: "ends their brief, and they begin again", Words: true},
			{Name: Park, Does: "gives up those that wait"},
		},
		Suggested: Revise, Decider: decider(s, h.Pos, true),
	}
	if request.PlanAfter(s, h) >= 0 {
		d.Decider = run.Decider{Who: run.ByMaster, Why: "it has planned tasks that go first"}
	}
	return d
}

func id(about string, pos uint64) string { return fmt.Sprintf("%s@%d", about, pos) }
