package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/orchestrator/run"
)

// Group is the work of the agents of one template, or of a single agent.
type Group struct {
	Name string
	// Agents are the attempts with a worker, Queued those that wait for one.
	Agents, Queued int
	// Stages are the agents' stages, the most frequent first.
	Stages []Stage
	// Since is when the longest of them began, in unix milliseconds.
	Since int64
	// One is the only agent; nil for several.
	One *Agent
}

// Stage is the stage of some agents of a group.
type Stage struct {
	Name   string
	Agents int
}

// String counts the stages: "12 running go test, 5 queued".
func (g *Group) String() string {
	say := make([]string, 0, len(g.Stages)+1)
	for _, s := range g.Stages {
		say = append(say, fmt.Sprintf("%d %s", s.Agents, s.Name))
	}
	if g.Queued == 1 && g.Agents == 0 {
		return "queued"
	}
	if g.Queued > 0 {
		say = append(say, fmt.Sprintf("%d queued", g.Queued))
	}
	return strings.Join(say, ", ")
}

// Add counts the agents of another group too.
func (g *Group) Add(other *Group) {
	g.Agents, g.Queued = g.Agents+other.Agents, g.Queued+other.Queued
	for _, s := range other.Stages {
		g.stage(s.Name, s.Agents)
	}
	g.order()
}

// Size is how many attempts it has.
func (g *Group) Size() int { return g.Agents + g.Queued }

// Groups folds the queue: the attempts of a template are one group, and the largest group is first.
func Groups(s *run.State) []Group {
	f := folding{s: s, at: map[string]int{}}
	list := Agents(s)
	for i := range list {
		a := &list[i]
		g := f.group(a.Task)
		g.Since = min(cmp.Or(g.Since, a.Since), a.Since)
		if g.Agents++; g.Size() == 1 {
			g.One = a
		} else {
			g.One = nil
		}
		g.stage(stageOf(a.Doing, programOf(s, a.Task)), 1)
	}
	for id, w := range s.Queue {
		if a := w.Newest(); w.Outstanding() && !a.Started && !s.Status.Ended() {
			g := f.group(id)
			g.Queued, g.One = g.Queued+1, nil
		}
	}
	for i := range f.out {
		f.out[i].order()
	}
	slices.SortFunc(f.out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Size(), a.Size()), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Name, b.Name))
	})
	return f.out
}

type folding struct {
	s   *run.State
	at  map[string]int
	out []Group
}

// group is that of an attempt, made on demand.
func (f *folding) group(id string) *Group {
	name := f.name(id)
	i, found := f.at[name]
	if !found {
		i = len(f.out)
		f.at[name] = i
		f.out = append(f.out, Group{Name: name})
	}
	return &f.out[i]
}

// name is the key under which an attempt is counted.
func (f *folding) name(id string) string {
	task, judged := strings.CutSuffix(id, run.VerifySuffix)
	switch t := f.s.Tasks.ByID[task]; {
	case t == nil || t.Task.ShardOf == "":
		return Name(id)
	case judged:
		return t.Task.ShardOf + " review"
	default:
		return t.Task.ShardOf
	}
}

func (g *Group) stage(name string, agents int) {
	i := slices.IndexFunc(g.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		g.Stages = append(g.Stages, Stage{Name: name, Agents: agents})
		return
	}
	g.Stages[i].Agents += agents
}

func (g *Group) order() {
	slices.SortFunc(g.Stages, func(a, b Stage) int {
		return cmp.Or(cmp.Compare(b.Agents, a.Agents), cmp.Compare(a.Name, b.Name))
	})
}
