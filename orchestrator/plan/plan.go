package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// maxOverlaps bounds the overlaps that a plan event lists.
const maxOverlaps = 100

// Prepare validates and expands a plan against what the run already has. Problems are the author's to fix; with any, the
// plan data is empty. It changes nothing.
func Prepare(
	ctx context.Context, p spec.Plan, agenda *run.Agenda, works run.Works, tree Tree) (run.PlanData, []spec.Problem, error,
) {
	return prepare(ctx, p, agenda, works, tree, nil)
}

// prepare is Prepare; m is nil but for what is added to a run that is tried again.
func prepare(
	ctx context.Context, p spec.Plan, agenda *run.Agenda, works run.Works, tree Tree, m *mending,
) (run.PlanData, []spec.Problem, error) {
	s, had := &agenda.Spec, m.now(&agenda.Tasks, agenda.Tasks.Planned())
	p = p.WithRoleInputs(s.Roles)
	gates := make([]string, 0, len(s.Project.Gates))
	for _, g := range s.Project.Gates {
		gates = append(gates, g.Name)
	}
	others := slices.DeleteFunc(slices.Clone(had), m.has)
	problems := append(p.Validate(spec.Env{Roles: s.Roles, Gates: gates, Tasks: others}), reserved(p)...)
	problems = append(problems, inSubmodules(p, s.Submodules)...)
	problems = append(problems, closedSets(p, &agenda.Tasks, m != nil)...)
	if len(problems) > 0 {
		return run.PlanData{}, problems, nil
	}
	expanded, problems, err := expand(ctx, p, tree, agenda, m)
	if err != nil || len(problems) > 0 || m != nil && len(expanded.Tasks)+len(expanded.Later) == 0 {
		return run.PlanData{}, problems, err
	}
	return expanded.data(ctx, p.DecisionRecord, had, agenda, works, tree)
}

// data is the plan of what was expanded, over the tasks that the run has.
func (x *Expansion) data(
	ctx context.Context, record string, had []spec.Task, agenda *run.Agenda, works run.Works, tree Tree,
) (run.PlanData, []spec.Problem, error) {
	s, tasks := &agenda.Spec, x.Tasks
	if problems := overlapInSets(tasks, had); len(problems) > 0 {
		return run.PlanData{}, problems, nil
	}
	complete(tasks, s)
	complete(x.foreseen, s)
	all := slices.Concat(tasks, x.foreseen)
	files, err := tree.Files(ctx)
	if err != nil {
		return run.PlanData{}, nil, fmt.Errorf("check which modules the gates run in: %w", err)
	}
	sizes, err := tree.Sizes(ctx)
	if err != nil {
		return run.PlanData{}, nil, fmt.Errorf("read the sizes of the files to estimate the tokens: %w", err)
	}
	data := run.PlanData{
		DecisionRecord: record, Tasks: tasks, Later: x.Later,
		Notes:    append(x.Notes, ungated(all, s.Roles, s.Project.Gates, files)...),
		LeftOut:  x.LeftOut,
		Overlaps: Overlaps(tasks, maxOverlaps), Ceiling: Ceiling(all, s.Roles, s.Project), Agents: agents(all, s),
		Likely: Estimate(record, all, sizes, agenda, works),
	}
	if problem, err := tooLarge(data); problem != nil || err != nil {
		return run.PlanData{}, problem, err
	}
	return data, nil, nil
}

// complete fills what tasks leave to their roles and to the project.
func complete(tasks []spec.Task, s *run.Spec) {
	for i := range tasks {
		tasks[i] = tasks[i].WithDefaults(s.Roles[tasks[i].Role])
		tasks[i].Limits = tasks[i].Limits.Or(s.Project.Limits)
	}
}

// maxPlan bounds a plan's event as it is stored, in bytes: what the log takes, less the event around it.
const maxPlan = wire.MaxMessage - 4<<10

// tooLarge refuses a plan that the log could not take while its author can still fix it.
func tooLarge(data run.PlanData) ([]spec.Problem, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode a plan of %d tasks: %w", len(data.Tasks), err)
	}
	pressed, err := wire.Press("", raw)
	if err != nil || len(pressed) <= maxPlan {
		return nil, err
	}
	return []spec.Problem{{Path: "tasks", Message: fmt.Sprintf(
		"%d tasks with %d bytes are more than the log takes at once: shorten the briefs, or plan in steps",
		len(data.Tasks), len(raw))}}, nil
}

// Replaceable finds what keeps a prepared plan from taking the place of the one that a person edited: a task of another plan with
// the same id, or more than the log takes.
func Replaceable(tasks *run.Tasks, data run.PlanData) ([]spec.Problem, error) {
	for i := range data.Tasks {
		id := data.Tasks[i].ID
		if other := tasks.ByID[id]; other != nil && other.Plan != data.Replaces-1 {
			return []spec.Problem{{Path: "tasks", Message: fmt.Sprintf("task id %q is used by a task of another plan", id)}}, nil
		}
	}
	return tooLarge(data)
}

// reserved finds tasks with the id of the master.
func reserved(p spec.Plan) []spec.Problem {
	var out []spec.Problem
	for i := range p.Tasks {
		if p.Tasks[i].ID == run.MasterTask {
			out = append(out, spec.Problem{
				Path: fmt.Sprintf("tasks[%d].id", i), Message: fmt.Sprintf("task id %q is the master's own", run.MasterTask),
			})
		}
	}
	return out
}

// inSubmodules finds write sets that name a file of a submodule.
func inSubmodules(p spec.Plan, submodules []string) []spec.Problem {
	var out []spec.Problem
	for i := range p.Tasks {
		for j, file := range p.Tasks[i].Files {
			for _, sub := range submodules {
				if file == sub || strings.HasPrefix(file, sub+"/") {
					out = append(out, spec.Problem{Path: fmt.Sprintf("tasks[%d].files[%d]", i, j), Message: fmt.Sprintf(
						"%s lies in the submodule %s, which a run does not check out: start a run in that repository",
						file, sub)})
				}
			}
		}
	}
	return out
}
