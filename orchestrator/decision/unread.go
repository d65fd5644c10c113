package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// unread are all patches of the run with files that no gate reads as their kind needs: one decision.
var unread = kind{
	name: run.DecideUnread,
	open: func(s *run.State) []run.Decision {
		held := s.Tasks.HeldUnread()
		if len(held) == 0 {
			return nil
		}
		return []run.Decision{unreadOf(&s.Spec, &s.Agents, held)}
	},
	carry: func(s *run.State, d *run.Decision, a run.Answer) ([]run.Action, string, error) {
		tasks := d.Tasks
		if a.Of != "" {
			tasks = []string{a.Of}
		}
		switch a.Option {
		case run.Skip:
			actions, _, err := request.Skip(&s.Agenda, s.Works, tasks, run.Revision{By: a.By},
				cmp.Or(a.Text, "no gate reads files of it"))
			return actions, text.Count(len(tasks), "task") + " skipped", err
		case run.AddGate:
			return addGates(&s.Agenda, &s.Proofs, a)
		}
		return []run.Action{continues(tasks, a)}, "the patches of " + text.Some(tasks, maxNamed) + " land unverified", nil
	},
	policy: func(agenda *run.Agenda, _ run.Works, d *run.Decision, accept bool) (actions []run.Action) {
		if accept || agenda.Spec.AllowsUnread() {
			return []run.Action{continues(d.Tasks, run.Answer{ID: d.ID, Option: run.Accept, By: run.ByPolicy})}
		}
		for _, t := range agenda.Tasks.HeldUnread() {
			actions = append(actions, recovery.Park(&agenda.Spec, t, proof.WhyUnread(t.Doubt().Unread)+
				" (a retry can land it unverified, or ask you first and add a gate)", nil)...)
		}
		return actions
	},
}

// continues closes a decision: the patches of tasks go to the landing queue.
func continues(tasks []string, a run.Answer) run.Action {
	return decided(&run.Decided{Kind: run.DecideUnread, Answer: a, With: tasks, Closed: true})
}

func unreadOf(order *run.Spec, agents *run.Agents, held []*run.Task) run.Decision {
	d := run.Decision{
		Reserved: true,
		Options: []run.Option{
			{Name: run.Accept, Does: "they land as unverified"},
			{Name: run.Skip, Does: "do without these tasks; dependent tasks continue"},
		},
	}
	d.Decider, d.Why = decider(order, agents, 0, true)
	var files []spec.Unread
	for _, t := range held {
		d.Tasks, d.Pos = append(d.Tasks, t.Task.ID), max(d.Pos, t.Doubt().Pos)
		files = append(files, t.Doubt().Unread...)
	}
	switch {
	case order.AllowsUnread():
		d.Decider, d.Why = run.ByRule, "the run may land files that no gate reads"
	case d.Decider == run.ByPerson:
		d.Why = "no gate tests these files"
	}
	d.Evidence = proof.UnreadLines(files)
	d.ID = request.UnreadID(held)
	d.Text = fmt.Sprintf("a decision about %s that no gate reads, of %s: %s", text.Count(len(files), "file"),
		text.Count(len(held), "task"), strings.TrimPrefix(d.Evidence[0], "no gate reads "))
	if gates := proof.NewGates(order, files); len(gates) > 0 && request.MayAddGates(order) {
		var commands []string
		for _, g := range gates {
			commands = append(commands, text.CommandLine(g.Command))
		}
		d.Options = slices.Insert(d.Options, 1, run.Option{
			Name: run.AddGate,
			Does: "add to this run, and prove the patches with it: " + text.OneLine(strings.Join(commands, "; ")),
		})
		d.Suggests = run.AddGate
	}
	return d
}

// addGates adds the gates that would read unread files. The tasks whose files they all read are tested again; the others stay
// held.
func addGates(agenda *run.Agenda, proofs *run.Proofs, a run.Answer) (actions []run.Action, outcome string, err error) {
	var tasks, names []string
	var files []spec.Unread
	held := agenda.Tasks.HeldUnread()
	for _, t := range held {
		files = append(files, t.Doubt().Unread...)
	}
	gates := proof.NewGates(&agenda.Spec, files)
	for _, g := range gates {
		names = append(names, g.Name)
		actions = append(actions, request.AddGate(g, a.By))
	}
	for _, g := range agenda.Spec.Added { // a kill came behind it
		if _, ran := proofs.Baseline[g.Name]; !ran && g.Dropped == "" {
			gates = append(gates, g.Gate)
		}
	}
	for _, t := range held {
		if !slices.ContainsFunc(t.Doubt().Unread, func(u spec.Unread) bool { return !proof.ReadBy(u, gates) }) {
			tasks = append(tasks, t.Task.ID)
		}
	}
	return append(actions, continues(tasks, a)), "added " + strings.Join(names, ", ") + ": run on the base commit, then on " +
		text.Some(tasks, maxNamed), nil
}
