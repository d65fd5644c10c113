package decision

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// group is shards of a template that are held for findings of the same kinds, the most kinds first, or one task alone.
type group struct {
	of    string
	kinds []string
	tasks []*run.Task
}

// groups puts held shards together. One with some of another's kinds of findings belongs to that: what an experiment has shown
// of one was not tried with all of them.
func groups(order *run.Spec, agents *run.Agents, tasks []*run.Task) (out []*group) {
	for _, t := range tasks {
		of := "task " + t.Task.ID
		if t.Task.ShardOf != "" && !t.Doubt().Review {
			who, _ := decider(order, agents, t.Doubt().Pos, true)
			of = fmt.Sprint("template ", t.Task.ShardOf, " ", who, " ", slices.Contains(t.Doubt().Kinds, run.NoticedNone))
		}
		out = append(out, &group{of, t.Doubt().Kinds, []*run.Task{t}})
	}
	slices.SortStableFunc(out, func(a, b *group) int { return cmp.Compare(len(b.kinds), len(a.kinds)) })
	all := out
	out = nil
	for _, g := range all {
		at := slices.IndexFunc(out, func(o *group) bool { return o.of == g.of && !lacks(o.kinds, g.kinds) })
		if at < 0 {
			out = append(out, g)
			continue
		}
		out[at].tasks = append(out[at].tasks, g.tasks...)
	}
	slices.SortFunc(out, func(a, b *group) int { return cmp.Compare(a.oldest().Doubt().Pos, b.oldest().Doubt().Pos) })
	return out
}

// lacks reports whether one of some kinds is not among others.
func lacks(others, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(k string) bool { return !slices.Contains(others, k) })
}

func byPlace(a, b *run.Task) int { return cmp.Compare(a.Doubt().Pos, b.Doubt().Pos) }

func (g *group) oldest() *run.Task { return slices.MinFunc(g.tasks, byPlace) }

// ask makes the decision about the oldest patch one about them all. Its id stands for exactly these patches.
func (g *group) ask(d *run.Decision) {
	lead := g.tasks[0]
	members := slices.SortedFunc(slices.Values(g.tasks), byPlace)
	sum := sha256.New()
	for _, t := range members {
		fmt.Fprintf(sum, "%s@%d\n", t.Task.ID, t.Doubt().Pos)
	}
	d.ID = fmt.Sprintf("%s.%x", run.DecisionID(d.About, members[len(members)-1].Doubt().Pos), sum.Sum(nil)[:6])
	d.About, d.Attempt = "", 0
	d.Text = fmt.Sprintf("a decision about %s of %s with findings of the same kind: %s", text.Count(len(g.tasks), "shard"),
		lead.Task.ShardOf, text.Line(lead.Doubt().Evidence[0]))
	d.Tasks, d.Evidence, d.Template = nil, nil, lead.Task.ShardOf
	for _, t := range g.tasks {
		d.Tasks = append(d.Tasks, t.Task.ID)
		for _, line := range t.Doubt().Evidence {
			d.Evidence = append(d.Evidence, t.Task.ID+": "+line)
		}
	}
}

// answered takes the patches out of held ones that an answer which the run has not acted on is for: what comes later is another
// decision. Another attempt of a task is held behind the answer.
func answered(given *run.Decided, held []*run.Task) (g group, others []*run.Task) {
	for _, t := range held {
		alone := given.About == t.Task.ID && given.Answer.ID == ownID(t)
		if t.Doubt().Pos < given.Pos && (alone || given.About == "" && slices.Contains(given.With, t.Task.ID)) {
			g.tasks = append(g.tasks, t)
		} else {
			others = append(others, t)
		}
	}
	return g, others
}

// ownID is the id of the decision about the held patch of a task alone.
func ownID(t *run.Task) string { return run.DecisionID(t.Task.ID, t.Doubt().Pos) }

// ofGroup reports whether a decision is about the patches of several shards, for findings of the same kinds.
func ofGroup(d *run.Decision) bool {
	return d.About == "" && (d.Kind == run.DecidePatch || d.Kind == run.DecideTest)
}

// groupOf is the place of the decision about a group with a task; -1 for none.
func groupOf(open []run.Decision, task string) int {
	return slices.IndexFunc(open, func(d run.Decision) bool { return ofGroup(&d) && slices.Contains(d.Tasks, task) })
}

// member is the decision about the patch of one of a group alone.
func member(s *run.State, group *run.Decision, task string) run.Decision {
	t := s.Tasks.ByID[task]
	d := about(&s.Agenda, &s.Agents, t, t.Doubt())
	d.Kind = group.Kind
	return d
}

// awaited reports whether the decision of a person about shards waits for others, whose patches may become part of it: what a
// command does with all of them is asked about once.
func awaited(s *run.State, d *run.Decision) bool {
	if d.Decider != run.ByPerson || d.Reserved || d.Kind != run.DecidePatch {
		return false
	}
	t := s.Tasks.ByID[d.Tasks[0]]
	return t.Task.ShardOf != "" && !s.Spec.Spends(t.Task.Role) &&
		slices.ContainsFunc(s.Tasks.Shards[t.Task.ShardOf], func(id string) bool {
			o := s.Tasks.ByID[id]
			if _, unserved := s.Unserved[o.Task.Role]; unserved && o.State == run.TaskRunning {
				return false
			}
			return o.State == run.TaskRunning || o.State == run.TaskVerifying
		})
}
