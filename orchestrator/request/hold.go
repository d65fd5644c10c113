package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Hold holds the templates whose shards fail alike.
func Hold(s *run.State) (actions []run.Action) {
	for _, name := range slices.Sorted(maps.Keys(s.Templates.Doubtful)) {
		if h := due(&s.Agenda, name); h.Shards > 0 {
			d := run.Decided{Kind: run.DecideTemplate, About: h.Template, Hold: &h}
			actions = append(actions, run.SetRun(run.Data{Decision: &d}))
		}
	}
	return actions
}

// due returns the hold of a template that is due: the failure that most of its shards have, where they are enough, no more of
// them have passed, and others could still fail so. A failure that was accepted is none.
func due(agenda *run.Agenda, name string) (h run.Hold) {
	x := agenda.Templates.Doubtful[name]
	waits := func(id string) bool {
		state := agenda.Tasks.ByID[id].State
		return state == run.TaskPending || state == run.TaskAccepted && !x.Answered(run.Park)
	}
	if x.Open() != nil || !agenda.Tasks.OpenShards(name) || !slices.ContainsFunc(agenda.Tasks.Shards[name], waits) {
		return h
	}
	for _, shape := range x.Often {
		list := x.Failed[shape]
		accepted := func(had *run.Hold) bool {
			return had.Shape == shape && had.Answer != nil && had.Answer.Option == run.Accept
		}
		if n := len(list); n < run.Alike || n < x.Passed || n <= h.Shards || slices.ContainsFunc(x.Holds, accepted) {
			continue
		}
		t := list[len(list)-1]
		f := t.Faults[len(t.Faults)-1]
		message, _, _ := strings.Cut(f.Fault.Message, "\n")
		h = run.Hold{
			Template: name, Shape: shape, Shards: len(list), Message: message, Example: wire.AgentID(t.Task.ID, f.Attempt),
		}
	}
	return h
}

// PlanAfter returns the place of the first plan that the master made in a turn that began with a hold; -1 for none.
func PlanAfter(plans *run.Plans, works run.Works, h *run.Hold) int {
	for i := h.Plans; i < len(plans.All); i++ {
		p := &plans.All[i]
		author, turn, _ := run.SplitAgent(p.By)
		called := author == run.MasterTask && works.CalledAt(turn) > h.Pos
		if called && p.Request == "" && p.Follows == "" && len(p.Tasks) > 0 {
			return i
		}
	}
	return -1
}

// ReviseAfterPlan has the shards of the first held template begin again for which the master planned tasks that have ended.
func ReviseAfterPlan(s *run.State) []run.Action {
	for _, h := range s.Templates.Holds() {
		if s.ForMaster(h.Pos, &s.Spec) {
			continue
		}
		plan := PlanAfter(&s.Plans, s.Works, h)
		if plan < 0 || !ended(&s.Agenda, plan, h.Template) {
			continue
		}
		actions, err := Revise(&s.Agenda, s.Works, h.Template, run.Revision{By: s.Plans.All[plan].By})
		if err != nil {
			return parkHeld(&s.Agenda, h, s.Plans.All[plan].By, err.Error())
		}
		return actions
	}
	return nil
}

// RuleHold answers a hold by the policy of the run.
func RuleHold(agenda *run.Agenda, h *run.Hold, accept bool) []run.Action {
	if accept {
		return []run.Action{answerHold(h, run.Answer{Option: run.Accept, By: run.ByPolicy})}
	}
	return parkHeld(agenda, h, run.ByPolicy, "")
}

// ended reports whether all tasks of a plan have ended, but for those that wait for the shards of a template.
func ended(agenda *run.Agenda, plan int, template string) bool {
	waits := map[string]bool{template: true}
	for _, id := range agenda.Tasks.Shards[template] {
		waits[id] = true
	}
	for more := true; more; {
		more = false
		for t := range agenda.Tasks.Open() {
			if id := t.Task.ID; !waits[id] && slices.ContainsFunc(t.After, func(ref string) bool { return waits[ref] }) {
				waits[id], more = true, true
				waits[t.Task.ShardOf] = waits[t.Task.ShardOf] || t.Task.ShardOf != ""
			}
		}
	}
	return !slices.ContainsFunc(agenda.Plans.All[plan].Tasks, func(t spec.Task) bool {
		v := agenda.Tasks.ByID[t.ID]
		return v != nil && !v.Ended() && !waits[t.ID]
	})
}

func answerHold(h *run.Hold, a run.Answer) run.Action {
	a.ID = run.DecisionID(h.Template, h.Pos)
	return run.SetRun(run.Data{Decision: &run.Decided{Kind: run.DecideTemplate, About: h.Template, Closed: true, Answer: a}})
}

// parkHeld gives up the shards that a hold keeps from starting, with those of their change set. Where the policy of the run
// decides, the patches that wait are tested: they are there already.
func parkHeld(agenda *run.Agenda, h *run.Hold, by, words string) (actions []run.Action) {
	asked := ""
	if by == run.ByPolicy {
		asked = ", as no person is asked"
	}
	why := fmt.Sprintf("%s parks the rest of %s%s: %s", by, h.Template, asked, h.Why()) + later(&agenda.Templates, h)
	if words != "" {
		why += ": " + text.Line(words)
	}
	waiting := slices.Collect(agenda.Tasks.In(run.TaskPending))
	if by != run.ByPolicy {
		waiting = slices.AppendSeq(waiting, agenda.Tasks.In(run.TaskAccepted))
	}
	for _, t := range waiting {
		if agenda.Templates.Held[t] == h {
			actions = append(actions, recovery.Park(&agenda.Spec, t, why, nil)...)
		}
	}
	return append(actions, answerHold(h, run.Answer{Option: run.Park, Text: words, By: by}))
}

// later reports that trying again may do, where a command failed in the way of a hold also after a wait.
func later(templates *run.Templates, h *run.Hold) string {
	if slices.ContainsFunc(templates.Of[h.Template].Failed[h.Shape], func(t *run.Task) bool {
		return t.Waited && t.Faults[len(t.Faults)-1].Fault.Class == wire.FaultCommand
	}) {
		return recovery.TryLater
	}
	return ""
}

// heldOnly returns the open hold of a reference that is no task; the error is a *RefusedError where a template is not held.
func heldOnly(agenda *run.Agenda, ref string) (*run.Hold, error) {
	if agenda.Tasks.Single(ref) != nil || len(agenda.Tasks.Shards[ref]) == 0 {
		return nil, nil
	}
	if err := Over(agenda); err != nil {
		return nil, err
	}
	if h := agenda.Templates.Of[ref].Open(); h != nil {
		return h, nil
	}
	holds := agenda.Templates.HoldsOf(ref)
	if len(holds) == 0 {
		return nil, Refusedf("the shards of %s are not held: name one of them, such as %s", ref, agenda.Tasks.Shards[ref][0])
	}
	last := holds[len(holds)-1]
	return nil, Refusedf("the hold of %s was answered already: %s by %s", ref, last.Answer.Option, wire.Speaker(last.Answer.By))
}

// reviseBy lets the shards of a held template begin again, with words that their briefs end with. Repeated after a kill it
// changes only those that lack them.
func reviseBy(agenda *run.Agenda, works run.Works, h *run.Hold, words, by string) ([]run.Action, error) {
	return Revise(agenda, works, h.Template, run.Revision{ID: run.DecisionID(h.Template, h.Pos), By: by, Comment: words})
}
