package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Forgotten are tasks for files that a plan has forgotten, with the parked tasks whose patches they complete.
type Forgotten struct {
	Tasks []spec.Task
	// Joins are the tasks that have no change set yet, by the one that they join.
	Joins map[string][]string
	// heads are the commits that the new tasks start from, by task; waiting are the parked tasks, sets the same by change set.
	heads   map[string]string
	waiting map[string]bool
	sets    map[string][]string
}

// FindForgotten plans a task for each group of parked tasks that fail in the same files which no task may change: of those that
// are named, or of all. Its role is that of most of the waiting tasks, or the one given; brief, if given, says what to do in the
// place of theirs. has reports whether the integration head has a file. The error is a *RefusedError.
func FindForgotten(agenda *run.Agenda, refs []string, role, brief string, has func(file string) bool) (*Forgotten, error) {
	if _, err := retried(agenda, refs, true); err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, ref := range refs {
		for _, id := range agenda.Tasks.Members(ref) {
			named[id] = true
		}
	}
	out := &Forgotten{
		Joins: map[string][]string{}, heads: map[string]string{}, waiting: map[string]bool{}, sets: map[string][]string{},
	}
	barred := []string{}
	for _, g := range groups(&agenda.Tasks, named) {
		for _, file := range g.files() {
			switch {
			case !has(file), spec.WriteSet{}.RefuseNew(file) != "": // no task can name it
			case spec.WriteSet{Protected: agenda.Spec.Project.Protected}.RefuseNew(file) != "":
				barred = append(barred, file)
			default:
				g.change = append(g.change, file)
			}
		}
		if len(g.change) > 0 {
			out.add(agenda, &g, role, brief)
		}
	}
	switch {
	case len(out.Tasks) > 0:
		return out, nil
	case len(barred) > 0:
		return nil, Refusedf("%s is protected: add a task that names it in its files to the plan", text.Some(barred, maxFiles))
	}
	return nil, Refusedf("no parked task of run %s fails in a file that no task may change: there is nothing to add",
		agenda.Spec.Run)
}

// Waiting are the ids of the parked tasks that wait for the new task of a change set.
func (f *Forgotten) Waiting(set string) []string { return f.sets[set] }

// maxFiles bounds the files that a message names.
const maxFiles = 5

// group are parked tasks that fail in the same forgotten files, with their change set, if any.
type group struct {
	set      string
	members  []*run.Task
	findings []spec.Finding
	heads    []string
	change   []string
}

func (g *group) files() []string { return (&run.Forgotten{Findings: g.findings}).Files() }

func groups(tasks *run.Tasks, named map[string]bool) (out []group) {
	for t := range tasks.All() {
		if t.State != run.TaskParked || t.Forgotten == nil || t.Parent != "" {
			continue
		}
		members := []*run.Task{t}
		if set := tasks.Set(t); set != nil {
			members = set.Members
		}
		if len(named) > 0 && !slices.ContainsFunc(members, func(m *run.Task) bool { return named[m.Task.ID] }) {
			continue
		}
		at := slices.IndexFunc(out, func(g group) bool {
			shares := func(f spec.Finding) bool { return slices.Contains(g.files(), f.File) }
			one := g.set == "" || t.Task.ChangeSet == ""
			return g.set != "" && g.set == t.Task.ChangeSet || one && slices.ContainsFunc(t.Forgotten.Findings, shares)
		})
		if at < 0 {
			at, out = len(out), append(out, group{})
		}
		g := &out[at]
		if g.set == "" {
			g.set = t.Task.ChangeSet
		}
		for _, m := range members {
			if !slices.Contains(g.members, m) {
				g.members = append(g.members, m)
			}
		}
		g.findings, g.heads = append(g.findings, t.Forgotten.Findings...), append(g.heads, t.Forgotten.Head)
	}
	return out
}

// add plans the task of a group.
func (f *Forgotten) add(agenda *run.Agenda, g *group, role, brief string) {
	like, id := g.like(&agenda.Spec), f.name(&agenda.Tasks)
	set := g.set
	if set == "" {
		set = id
	}
	for _, m := range g.members {
		f.waiting[m.Task.ID], f.sets[set] = true, append(f.sets[set], m.Task.ID)
		if m.Task.ChangeSet == "" {
			f.Joins[set] = append(f.Joins[set], m.Task.ID)
		}
	}
	task := spec.Task{
		ID: id, Title: "What was forgotten: " + text.Some(g.change, 1), Brief: g.brief(brief), Files: g.change, ChangeSet: set,
		Role: like.Task.Role, Command: like.Task.Command, Limits: like.Task.Limits, Constraints: like.Task.Constraints,
		Gates: like.Task.Gates, Verify: like.Task.Verify, Attempts: like.Task.Attempts,
	}
	if role != "" && role != task.Role {
		task.Role, task.Command, task.Limits = role, nil, spec.Limits{}
	}
	f.Tasks = append(f.Tasks, task)
	if len(g.heads) == 1 {
		f.heads[id] = g.heads[0]
	}
}

// name is an id that no task, template or change set has.
func (f *Forgotten) name(tasks *run.Tasks) string {
	id := "forgotten"
	for n := 2; ; n++ {
		planned := slices.ContainsFunc(f.Tasks, func(t spec.Task) bool { return t.ID == id })
		if !planned && len(tasks.Members(id)) == 0 && tasks.Sets[id] == nil {
			return id
		}
		id = fmt.Sprintf("forgotten-%d", n)
	}
}

// like is the last of the waiting tasks with the role that most of them have: a plan tends to end with the callers.
func (g *group) like(order *run.Spec) *run.Task {
	count := map[string]int{}
	for _, m := range g.members {
		if role := order.Roles[m.Task.Role]; role.ChangesFiles() {
			count[m.Task.Role]++
		}
	}
	best := g.members[0]
	for _, m := range g.members {
		if count[m.Task.Role] >= count[best.Task.Role] {
			best = m
		}
	}
	return best
}

// maxBriefs bounds how many briefs of waiting tasks a new one quotes.
const maxBriefs = 3

// brief reports what to change, why, and for what.
func (g *group) brief(given string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Other tasks have changed what %s uses, and no task was to change that. Change it so that the gates pass "+
		"together with their patches, and nothing else.\nThe gates report there, as data:\n", strings.Join(g.change, ", "))
	var said []string
	for _, f := range g.findings {
		if slices.Contains(g.change, f.File) {
			said = append(said, strings.TrimSuffix(f.String()+"\n    "+f.Source, "\n    "))
		}
	}
	b.WriteString(narrative.Quote(strings.Join(said, "\n")))
	if given != "" {
		return b.String() + "\n" + given
	}
	var had []string
	for _, m := range g.members {
		if len(had) < maxBriefs && !slices.Contains(had, m.Task.Brief) {
			had = append(had, m.Task.Brief)
			fmt.Fprintf(&b, "\nThe task of %s was:\n%s", m.Task.ID, m.Task.Brief)
		}
	}
	return b.String()
}

// Complete adds the tasks for forgotten files, as they were prepared. What the waiting tasks handed in is tested again with them;
// only those begin again that also failed by themselves, whose ids it returns.
func Complete(agenda *run.Agenda, f *Forgotten, data run.PlanData, by string) (actions []run.Action, again []string) {
	r := run.Revision{By: by}
	data.By = by
	for i := range data.Tasks {
		data.Tasks[i].Unlocked = nil // no finding unlocks a protected file
	}
	actions = append(reopen(agenda, tried(&r)), run.Append{Data: data})
	for _, id := range agenda.Tasks.Order {
		if t := agenda.Tasks.ByID[id]; f.waiting[id] && !t.HandedIn() {
			again = append(again, id)
			actions = append(actions, run.SetTask(id, run.TaskData{State: run.TaskPending, Reason: tried(&r), Revision: &r}))
		} else if set := agenda.Tasks.Set(t); f.waiting[id] && set != nil && !set.Revives() {
			actions = append(actions, run.SetTask(id, reopened(t, &r)))
		}
	}
	for i := range data.Tasks {
		if head := f.heads[data.Tasks[i].ID]; head != "" && len(again) == 0 {
			actions = append(actions, run.SetTask(data.Tasks[i].ID, run.TaskData{State: run.TaskPending, Head: head}))
		}
	}
	return append(actions, freed(&agenda.Tasks, maps.Clone(f.waiting), r, false)...), again
}
