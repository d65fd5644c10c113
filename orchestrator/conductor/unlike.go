package conductor

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/outlier"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"

	"divisi/orchestrator/evidence"
)

// siblings compares the shards of a template with each other.
type siblings struct {
	// edits are those of patches, by their commits. odd are, by template, the edits that no other shard makes, with how many
	// commits had come then.
	edits map[string][]outlier.Edit
	odd   map[string]compared
}

type compared struct {
	commits int
	odd     map[string][]outlier.Odd
}

// readEdits reads the patches of shards, where the conductor that has received them was another one.
type readEdits struct {
	run.Proposal

	tasks []*run.Task
}

// unlike holds each patch that lands next and has edits that no other shard of its template makes, before the gates run on it or
// once they have passed. One that is held goes on where more shards turn out to edit alike.
func (c *Conductor) unlike(s *run.State) []run.Action {
	due, batch := landing.Due(s)
	held := slices.Collect(s.Tasks.Unlike())
	doubts := map[string]run.Doubt{}
	for _, t := range slices.Concat(due, held) {
		if !compares(s, t) {
			continue
		}
		odd, missing := c.oddOf(s, t.Task.ShardOf)
		switch edits := odd[t.Task.ID]; {
		case missing != nil:
			return []run.Action{readEdits{tasks: missing}}
		case len(edits) > 0 && t.State != run.TaskHeld:
			doubts[t.Task.ID] = landing.Unlike(told(edits))
		case len(edits) == 0 && t.State == run.TaskHeld && c.tells(t) && s.Decisions.Given(decidedBy(s, t)) == nil:
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

// tells reports whether enough shards of a task's template are there to compare.
func (c *Conductor) tells(t *run.Task) bool {
	return c.siblings.odd[t.Task.ShardOf].commits >= outlier.Fewest
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
	return t.Task.ShardOf != "" && len(t.AllowedUnlike()) == 0 && !seen && !hasOwnOrder(s, t)
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
	return same < outlier.Fewest
}

// landedUnlike notes, once all tasks have ended, what landed before its siblings showed that it is unlike them.
func (c *Conductor) landedUnlike(s *run.State) []run.Action {
	if !phase.Over(s) {
		return nil
	}
	found := map[string][]run.Unlike{}
	for template, shards := range s.Tasks.Shards {
		odd, missing := c.oddOf(s, template)
		if missing != nil {
			return []run.Action{readEdits{tasks: missing}}
		}
		for _, id := range shards {
			t := s.Tasks.ByID[id]
			if t.State == run.TaskLanded && len(odd[id]) > 0 && s.Unlike[id] == nil && compares(s, t) {
				found[id] = told(odd[id][:min(len(odd[id]), maxTold)])
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []run.Action{run.SetRun(run.Data{Unlike: found})}
}

// told are odd edits as the log has them.
func told(odd []outlier.Odd) (out []run.Unlike) {
	for _, o := range odd {
		u := run.Unlike{File: o.File, Line: o.Line, Was: o.Was, Is: o.Is}
		if o.Usual != nil {
			u.UsualWas, u.UsualIs = o.Usual.Was, o.Usual.Is
		}
		out = append(out, u)
	}
	return out
}

// maxTold bounds the edits of a landed shard that the log has.
const maxTold = 5

// oddOf returns the odd edits of the shards of a template; missing are those whose edits are not known.
func (c *Conductor) oddOf(s *run.State, template string) (odd map[string][]outlier.Odd, missing []*run.Task) {
	var shards []outlier.Shard
	commits := 0
	for _, id := range s.Tasks.Shards[template] {
		t := s.Tasks.ByID[id]
		if !slices.Contains(waitingOrLanded, t.State) {
			continue
		}
		one := outlier.Shard{ID: id}
		for _, k := range t.Patches() {
			edits, known := c.siblings.edits[k.Patch.Commit]
			if !known {
				missing = append(missing, t)
				break
			}
			one.Edits, commits = append(one.Edits, edits...), commits+1
		}
		shards = append(shards, one)
	}
	if missing != nil {
		return nil, missing
	}
	had, ok := c.siblings.odd[template]
	if !ok || had.commits != commits {
		had = compared{commits, outlier.Find(shards)}
		c.siblings.odd[template] = had
	}
	return had.odd, nil
}

// waitingOrLanded are the states of tasks whose patches nothing speaks against so far.
var waitingOrLanded = []run.TaskState{run.TaskHeld, run.TaskAccepted, run.TaskLanding, run.TaskLanded}

// readEdits reads the patches of shards.
func (c *Conductor) readEdits(ctx context.Context, tasks []*run.Task) error {
	defer spend(&c.own.Git)()
	for _, t := range tasks {
		for _, k := range t.Patches() {
			changes, err := evidence.Changes(ctx, c.cfg.Mirror, k.Patch)
			if err != nil {
				return fmt.Errorf("read the patch of %s: %w", t.Task.ID, err)
			}
			c.keepEdits(t, k.Patch, changes)
		}
	}
	return nil
}

// keepEdits notes the edits of a shard's patch.
func (c *Conductor) keepEdits(t *run.Task, p *spec.Patch, changes []acceptance.Change) {
	if t.Task.ShardOf == "" {
		return
	}
	var match *regexp.Regexp
	if t.Task.Rule != nil && t.Task.Rule.Match != "" {
		match, _ = regexp.Compile(t.Task.Rule.Match) // what is no expression covers all
	}
	own := make([]outlier.Change, len(changes))
	for i, one := range changes {
		own[i] = outlier.Change{Path: one.Path, Before: one.Before, After: one.After}
	}
	c.siblings.edits[p.Commit] = outlier.Edits(own, match)
}
