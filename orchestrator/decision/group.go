package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
			of = "template " + t.Task.ShardOf + " " + who
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

// ask makes the decision about the oldest patch one about them all. Its id has the newest one's place in the log, or that of the
// newest answer, which was for some of them.
func (g *group) ask(d *run.Decision, had run.Decisions) {
	lead := g.tasks[0]
	d.ID = run.DecisionID(d.About, slices.MaxFunc(g.tasks, byPlace).Doubt().Pos)
	for given := had.Given(d.ID); given != nil && given.Closed; given = had.Given(d.ID) {
		d.ID = run.DecisionID(d.About, given.Pos)
	}
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

// ofGroup reports whether a decision is about the patches of several shards, for findings of the same kinds.
func ofGroup(d *run.Decision) bool {
	return d.About == "" && (d.Kind == run.DecidePatch || d.Kind == run.DecideTest)
}

// part finds what an id was given for that is no decision's any more: those patches of a group that were held by then, or one of
// its patches alone.
func part(s *run.State, open []run.Decision, id string) (run.Decision, bool) {
	first := subject(id)
	until, err := strconv.ParseUint(id[min(len(id), len(first)+1):], 10, 64)
	at := slices.IndexFunc(open, func(d run.Decision) bool { return ofGroup(&d) && slices.Contains(d.Tasks, first) })
	if err != nil || at < 0 {
		return run.Decision{}, false
	}
	d := open[at]
	held := func(task string) *run.Task { return s.Tasks.ByID[task] }
	if t := held(first); t.Doubt().Pos == until {
		d = about(&s.Agenda, &s.Agents, t, t.Doubt())
		d.Kind = open[at].Kind
		return d, true
	}
	oldest := slices.MinFunc(d.Tasks, func(a, b string) int { return byPlace(held(a), held(b)) })
	d.ID, d.Tasks = id, slices.DeleteFunc(slices.Clone(d.Tasks), func(task string) bool { return held(task).Doubt().Pos > until })
	return d, first == oldest && len(d.Tasks) > 0
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
			state := s.Tasks.ByID[id].State
			return state == run.TaskRunning || state == run.TaskVerifying
		})
}
