package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Gain prepares what a plan file has gained since a run read it: new tasks, and shards of the files that a changed rule finds in
// a tree and that no shard has. What the run has stays as it is; a file that changes what has landed, or no longer has a task of
// the run, is an error for its author. Without a gain the data has no tasks.
func Gain(
	ctx context.Context, edited spec.Plan, agenda *run.Agenda, works run.Works, tree Tree) (run.PlanData, []spec.Problem, error,
) {
	if agenda.Spec.Plan == nil || len(agenda.Plans.All) == 0 {
		return run.PlanData{}, nil, nil
	}
	edited = edited.WithRoleInputs(agenda.Spec.Roles)
	was := agenda.Spec.Plan.WithRoleInputs(agenda.Spec.Roles)
	problems := gone(&was, &edited, &agenda.Tasks)
	gained, more, later := edited, map[string][]spec.Task{}, map[string]bool{}
	gained.Tasks = nil
	for i := range edited.Tasks {
		now := edited.Tasks[i]
		at := slices.IndexFunc(was.Tasks, func(t spec.Task) bool { return t.ID == now.ID })
		if at < 0 {
			gained.Tasks = append(gained.Tasks, now)
			continue
		}
		had := was.Tasks[at]
		grows := had.Shard != nil && now.Shard != nil && !reflect.DeepEqual(had.Shard, now.Shard)
		if why := fixed(&agenda.Tasks, had, now); why != "" {
			problems = append(problems, spec.Problem{Path: fmt.Sprintf("tasks[%d]", i), Message: why})
		} else if grows {
			gained.Tasks = append(gained.Tasks, now)
			if t := agenda.Tasks.ByID[now.ID]; t != nil && t.Waits() {
				later[now.ID] = true
			}
			for _, id := range agenda.Tasks.Shards[now.ID] {
				more[now.ID] = append(more[now.ID], agenda.Tasks.ByID[id].Task)
			}
		}
	}
	if len(problems) > 0 || len(gained.Tasks) == 0 {
		return run.PlanData{}, problems, nil
	}
	data, problems, err := prepare(ctx, gained, agenda, works, tree, &mending{edited: edited, shards: more, later: later})
	data.By = run.ByFile
	return data, problems, err
}

// Add prepares tasks that are added to a run that is tried again, also to change sets that were given up. joins are the tasks of
// the run, by the change set of a new one, that join it.
func Add(
	ctx context.Context, tasks []spec.Task, joins map[string][]string, agenda *run.Agenda, works run.Works, tree Tree,
) (run.PlanData, []spec.Problem, error) {
	data, problems, err := prepare(ctx, spec.Plan{Tasks: tasks}, agenda, works, tree, &mending{joins: joins})
	data.Forgotten, data.Joins = true, joins
	return data, problems, err
}

// mending is a plan whose tasks are added to a run that is tried again: shards are those that its templates have, by template,
// joins the tasks that get a change set, by its name, later those of its templates that get another rule before they expand.
type mending struct {
	later  map[string]bool
	edited spec.Plan
	shards map[string][]spec.Task
	joins  map[string][]string
}

// has reports whether a task is a shard that its template has.
func (m *mending) has(t spec.Task) bool {
	return m != nil && (len(m.shards[t.ShardOf]) > 0 || m.later[t.ID])
}

// now returns the tasks of a run with the change sets that they join, and the files that the edited plan gives those that have
// not ended well.
func (m *mending) now(tasks *run.Tasks, had []spec.Task) []spec.Task {
	if m == nil {
		return had
	}
	out := slices.Clone(had)
	for i := range out {
		for set, ids := range m.joins {
			if slices.Contains(ids, out[i].ID) {
				out[i].ChangeSet = set
			}
		}
		for j := range m.edited.Tasks {
			if t := &m.edited.Tasks[j]; t.ID == out[i].ID && t.Shard == nil && tasks.ByID[t.ID].GivenUp() {
				out[i].Files = t.Files
			}
		}
	}
	return out
}

// gone finds tasks of a run that its plan file no longer has and that were not given up as not needed.
func gone(was, edited *spec.Plan, tasks *run.Tasks) (out []spec.Problem) {
	for i := range was.Tasks {
		id := was.Tasks[i].ID
		if slices.ContainsFunc(edited.Tasks, func(t spec.Task) bool { return t.ID == id }) {
			continue
		}
		for _, member := range tasks.Members(id) {
			if state := tasks.ByID[member].State; state == run.TaskLanded || state == run.TaskDone {
				out = append(out, spec.Problem{Path: "tasks", Message: fmt.Sprintf(
					"the task %s is gone, and %s is %s: landed changes stay, so put it back", id, member, state)})
				break
			} else if state != run.TaskSkipped && state != run.TaskCancelled && state != run.TaskDropped {
				out = append(out, spec.Problem{Path: "tasks", Message: fmt.Sprintf(
					"the task %s is gone, and %s is %s: put it back, or skip it first", id, member, state)})
				break
			}
		}
	}
	return out
}

// fixed returns why a task of the plan file cannot become another one: all of it has landed, or a template becomes a task; ""
// where it can. A rule may change, for files that no shard has.
func fixed(tasks *run.Tasks, was, now spec.Task) string {
	if (was.Shard == nil) != (now.Shard == nil) {
		return fmt.Sprintf("%s gained or lost its shard rule: give the change to a new task", now.ID)
	}
	was.Shard, now.Shard = nil, nil
	fields := differing(was, now)
	if len(fields) == 0 || slices.ContainsFunc(tasks.Members(now.ID), func(id string) bool {
		return tasks.ByID[id].State != run.TaskLanded && tasks.ByID[id].State != run.TaskDone
	}) {
		return ""
	}
	return fmt.Sprintf("%s has landed, and its %s changed: put it back, and add a task for the remaining change",
		now.ID, strings.Join(fields, ", "))
}

// differing names the fields, in JSON, in which two tasks differ.
func differing(a, b spec.Task) []string {
	x, y := fieldsOf(a), fieldsOf(b)
	for name := range y {
		if _, both := x[name]; !both {
			x[name] = nil
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(x)), func(name string) bool { return string(x[name]) == string(y[name]) })
}

func fieldsOf(t spec.Task) (fields map[string]json.RawMessage) {
	data, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("encode a task: %v", err)) // it was read from a file
	}
	return fields
}

// last is the greatest number of some shards of a template.
func last(template string, shards []spec.Task) (n int) {
	for _, t := range shards {
		if k, err := strconv.Atoi(strings.TrimPrefix(t.ID, template+"-")); err == nil {
			n = max(n, k)
		}
	}
	return n
}

// Names lists the ids of some tasks.
func Names(tasks []spec.Task, most int) string {
	ids := make([]string, 0, len(tasks))
	for i := range tasks {
		ids = append(ids, tasks[i].ID)
	}
	return text.Some(ids, most)
}
