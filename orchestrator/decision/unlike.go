package decision

import (
	"fmt"
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// unlike are all held patches with edits that no other shard of their templates makes, as one decision.
var unlike = kind{
	name: run.DecideUnlike,
	open: func(s *run.State) []run.Decision {
		held := slices.Collect(s.Tasks.Unlike())
		if len(held) == 0 || slices.ContainsFunc(held, func(t *run.Task) bool { return siblingsToCome(&s.Agenda, t) }) {
			return nil
		}
		return []run.Decision{unlikeOthers(&s.Agenda, &s.Agents, held)}
	},
	carry:  rule,
	policy: judge,
	send:   run.Reject,
}

// siblingsToCome reports whether patches of other shards come without an answer: then they are in the same question. Those of a
// change set wait for it.
func siblingsToCome(agenda *run.Agenda, t *run.Task) bool {
	return slices.ContainsFunc(agenda.Tasks.Shards[t.Task.ShardOf], func(id string) bool {
		switch o := agenda.Tasks.ByID[id]; o.State {
		case run.TaskRunning, run.TaskVerifying, run.TaskLanding:
			return !o.WasUnlike()
		case run.TaskAccepted:
			return agenda.Tasks.Set(o) == nil && !o.WasUnlike() && agenda.Templates.Held[o] == nil
		default:
			return false
		}
	})
}

func unlikeOthers(agenda *run.Agenda, agents *run.Agents, held []*run.Task) run.Decision {
	asked, pos := agenda.Tasks.Asked(held[0])
	d := run.Decision{
		ID: asked.Answer.ID, Pos: pos,
		Options: []run.Option{
			{Name: run.Accept, Does: "they go to the landing queue"},
			{Name: run.Reject, Does: "your words go to the next attempt", NeedsText: true},
			{Name: run.Skip, Does: "do without them; dependent tasks continue"},
		},
	}
	d.Decider, d.Why = decider(&agenda.Spec, agents, pos, true)
	for _, t := range held {
		d.Tasks = append(d.Tasks, t.Task.ID)
		for _, line := range t.Doubt().Evidence {
			d.Evidence = append(d.Evidence, t.Task.ID+": "+line)
		}
	}
	d.Text = fmt.Sprintf("a decision about %s with edits that no other shard makes", text.Count(len(held), "shard"))
	return d
}
