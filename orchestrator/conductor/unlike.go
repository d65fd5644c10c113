package conductor

import (
	"context"
	"maps"
	"slices"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// readEdits reads the patches of shards, where the conductor that has received them was another one.
type readEdits struct {
	run.Proposal

	tasks []*run.Task
}

// unlike holds each patch that lands next and has edits that no other shard of its template makes, before the gates run on it or
// once they have passed. One that is held continues where more shards turn out to edit alike.
func (c *patches) unlike(s *run.State) []run.Action {
	due, batch := landing.Due(s)
	held := slices.Collect(s.Tasks.Unlike())
	doubts := map[string]run.Doubt{}
	for _, t := range slices.Concat(due, held) {
		if !compares(s, t) {
			continue
		}
		outliers, missing := c.siblings.Outliers(s, t.Task.ShardOf)
		switch edits := outliers[t.Task.ID]; {
		case missing != nil:
			return []run.Action{readEdits{tasks: missing}}
		case len(edits) > 0 && t.State != run.TaskHeld:
			doubts[t.Task.ID] = landing.Unlike(edits)
		case len(edits) == 0 && t.State == run.TaskHeld && c.siblings.Tell(t) && s.Decisions.Given(decidedBy(s, t)) == nil:
			return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted})}
		}
	}
	if len(doubts) == 0 {
		return nil
	}
	if batch != nil {
		return landing.Ask(s, batch, doubts)
	}
	var actions []run.Action
	for _, id := range slices.Sorted(maps.Keys(doubts)) {
		actions = append(actions, run.HoldPatch(s.Tasks.ByID[id], doubts[id]))
	}
	return actions
}

// decidedBy is the id of the decision about the held patch of a task.
func decidedBy(s *run.State, t *run.Task) string {
	asked, _ := s.Tasks.Asked(t)
	return asked.Answer.ID
}

// compares reports whether a patch is asked about where it is unlike those of other shards: that of a person, one that a person
// has seen or that was decided about, and that of a shard with an order of its own, is as it is meant.
func compares(s *run.State, t *run.Task) bool {
	seen := s.Spec.Review && t.Reviewed() || s.Works.ByPerson(t)
	return t.Task.ShardOf != "" && !t.Task.InRound() && len(t.AllowedUnlike()) == 0 && !seen && !hasOwnOrder(s, t)
}

// hasOwnOrder reports whether a person gave a shard another role, brief or command, which too few of its siblings have as well to
// tell what is usual with it.
func hasOwnOrder(s *run.State, t *run.Task) bool {
	if !slices.ContainsFunc(t.Revisions, func(r run.Revision) bool { return wire.IsPerson(r.By) && r.Changes() }) {
		return false
	}
	same := 0
	for _, id := range s.Tasks.Shards[t.Task.ShardOf] {
		other := s.Tasks.ByID[id].Task
		if other.Role == t.Task.Role && other.Brief == t.Task.Brief && slices.Equal(other.Command, t.Task.Command) {
			same++
		}
	}
	return same < evidence.Fewest
}

// landedUnlike notes, once all tasks have ended, what landed before its siblings showed that it is unlike them.
func (c *patches) landedUnlike(s *run.State) []run.Action {
	if !phase.Over(s) {
		return nil
	}
	found := map[string][]run.Unlike{}
	for template, shards := range s.Tasks.Shards {
		outliers, missing := c.siblings.Outliers(s, template)
		if missing != nil {
			return []run.Action{readEdits{tasks: missing}}
		}
		for _, id := range shards {
			t := s.Tasks.ByID[id]
			if t.State == run.TaskLanded && len(outliers[id]) > 0 && s.Unlike[id] == nil && compares(s, t) {
				found[id] = outliers[id][:min(len(outliers[id]), maxTold)]
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []run.Action{run.SetRun(run.Data{Unlike: found})}
}

// maxTold bounds the edits of a landed shard that the log has.
const maxTold = 5

// readEdits reads the patches of shards.
func (c *patches) readEdits(ctx context.Context, tasks []*run.Task) error {
	defer timeSpent(&c.own.Git)()
	return c.siblings.Read(ctx, c.cfg.Mirror, tasks)
}

// compare finds the shape of the patch that a decision is about.
type compare struct {
	run.Proposal
	run.Decision
}

// follow gives each held patch the answer that stands for it. The shape of a patch is found once.
func (c *patches) follow(s *run.State) []run.Action {
	if len(s.Standing) == 0 {
		return nil
	}
	for _, d := range decision.Patches(s) {
		shape, known := c.shapes[d.ID]
		if !known {
			return []run.Action{compare{Decision: d}}
		}
		if actions := decision.Follow(s, &d, shape); len(actions) > 0 {
			return actions
		}
	}
	return nil
}

// shape finds the shape of the patch that a decision is about. One that cannot be read has none.
func (c *patches) shape(ctx context.Context, d *run.Decision) error {
	c.shapes[d.ID] = ""
	t, w := c.st.Tasks.ByID[d.About], c.st.Works[d.About]
	if t == nil || w == nil || len(d.Tasks) != 1 || d.Tasks[0] != d.About {
		return nil
	}
	a := w.Attempts[w.Last]
	if a == nil || a.Result == nil || a.Result.Patch == nil {
		return nil
	}
	defer timeSpent(&c.own.Git)()
	diff, err := c.cfg.Mirror.Show(ctx, a.Head, a.Result.Patch.Commit, false)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.cfg.Log.Warn().Err(err).Msg("the patch of " + d.About + " cannot be read: no answer stands for it")
		return nil
	}
	c.shapes[d.ID] = decision.Shape(t, d, string(diff))
	return nil
}
