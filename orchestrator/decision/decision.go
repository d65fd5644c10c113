// Package decision lists the open decisions of a run, for its policy, its master or a person, and executes the answers. Every
// such thing is one run.Decision: how it is asked on a terminal, shown in a report and answered by a request is the same for all
// kinds. A kind is one entry of kinds.
package decision

import (
	"slices"

	"divisi/orchestrator/run"
)

// kind is all that is special about one kind of decision.
type kind struct {
	name run.DecisionKind
	// open lists the open ones, oldest first, those with an answer that the run has not acted on among them.
	open func(*run.State) []run.Decision
	// waits reports whether an open task cannot go on before a decision; nil where that is the task that it is about, and those
	// of its patches.
	waits func(templates *run.Templates, d *run.Decision, t *run.Task) bool
	// carry returns the run's reaction to an answer that fits, and its outcome in words. The actions close the decision. The
	// error is a *request.RefusedError.
	carry func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error)
	// policy is the answer of the run's policy, where a decision of the kind has run.ByRule as its decider; nil for none.
	policy func(agenda *run.Agenda, works run.Works, d *run.Decision, accept bool) []run.Action
	// send is the option that a message to the task or the template means; "" for none.
	send string
}

// kinds are the kinds in the order in which they are listed.
var kinds = []kind{plan, question, scope, patch, test, unlike, template, worker, reproof, unread, budget, later}

func of(name run.DecisionKind) *kind {
	return &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// All lists all decisions that are not closed, those with an answer too.
func All(s *run.State) (out []run.Decision) {
	for i := range kinds {
		for _, d := range kinds[i].open(s) {
			d.Kind = kinds[i].name
			out = append(out, d)
		}
	}
	return out
}

// Open lists the decisions that wait for an answer, by kind, each oldest first. Blocks is not set: see Count.
func Open(s *run.State) []run.Decision {
	return slices.DeleteFunc(All(s), func(d run.Decision) bool { return s.Decisions.Given(d.ID) != nil })
}

// Patches lists the open decisions about patches, each alone.
func Patches(s *run.State) (out []run.Decision) {
	for _, d := range Open(s) {
		if d.Kind != run.DecidePatch && d.Kind != run.DecideTest {
			continue
		}
		if !ofGroup(&d) {
			out = append(out, d)
			continue
		}
		for _, id := range d.Tasks {
			out = append(out, member(s, &d, id))
		}
	}
	return out
}

// ForPerson are the open ones that only a person can decide, and that no shards at work may become part of.
func ForPerson(s *run.State) []run.Decision {
	return slices.DeleteFunc(Open(s), func(d run.Decision) bool { return d.Decider != run.ByPerson || awaited(s, &d) })
}

// decider returns the decider about an event at a position of the log: the master while its turn with it has not ended, then the
// policy of the run, then a person.
func decider(order *run.Spec, agents *run.Agents, pos uint64, ruled bool) (who, why string) {
	switch {
	case agents.ForMaster(pos, order):
		return run.ByMaster, "its turn with it has not ended"
	case ruled && (order.OnDoubt == run.OnDoubtAccept || order.OnDoubt == run.OnDoubtReject):
		return run.ByRule, "the run was started to " + order.OnDoubt + " what is doubted"
	case order.Plan != nil:
		return run.ByPerson, "the run has a plan file and no master"
	}
	return run.ByPerson, "the master left it open"
}
