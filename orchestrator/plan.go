package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// maxOverlaps bounds the overlaps that a plan event lists.
const maxOverlaps = 100

// Prepare validates and expands a plan against what the run already has. Problems are the author's to mend; with any, the
// plan data is empty. It changes nothing.
func Prepare(ctx context.Context, p spec.Plan, s RunSpec, had []spec.Task, tree Tree) (PlanData, []spec.Problem, error) {
	p = p.WithRoleInputs(s.Roles)
	gates := make([]string, 0, len(s.Project.Gates))
	for _, g := range s.Project.Gates {
		gates = append(gates, g.Name)
	}
	problems := append(p.Validate(spec.Env{Roles: s.Roles, Gates: gates, Tasks: had}), reserved(p)...)
	problems = append(problems, inSubmodules(p, s.Submodules)...)
	if len(problems) > 0 {
		return PlanData{}, problems, nil
	}
	expanded, problems, err := Expand(ctx, p, tree, s.Roles, s.Project.Protected)
	if err != nil || len(problems) > 0 {
		return PlanData{}, problems, err
	}
	tasks := expanded.Tasks
	for i := range tasks {
		tasks[i] = tasks[i].WithDefaults(s.Roles[tasks[i].Role])
		tasks[i].Limits = tasks[i].Limits.Or(s.Project.Limits)
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return PlanData{}, nil, fmt.Errorf("check which modules the gates run in: %w", err)
	}
	data := PlanData{
		DecisionRecord: p.DecisionRecord, Tasks: tasks,
		Notes:    append(expanded.Notes, ungated(tasks, s.Roles, s.Project.Gates, files)...),
		Overlaps: Overlaps(tasks, maxOverlaps), Ceiling: Ceiling(tasks, s.Roles, s.Project),
	}
	if problem, err := tooLarge(data); problem != nil || err != nil {
		return PlanData{}, problem, err
	}
	return data, nil, nil
}

// maxPlan bounds a plan's event as it is stored, in bytes: what the log takes, less the event around it.
const maxPlan = bus.MaxData - 4<<10

// tooLarge refuses a plan that the log could not take while its author can still mend it.
func tooLarge(data PlanData) ([]spec.Problem, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode a plan of %d tasks: %w", len(data.Tasks), err)
	}
	pressed, err := wire.Press(raw)
	if err != nil || len(pressed) <= maxPlan {
		return nil, err
	}
	return []spec.Problem{{Path: "tasks", Message: fmt.Sprintf(
		"%d tasks with %d bytes are more than the log takes at once: shorten the briefs, or plan in steps",
		len(data.Tasks), len(raw))}}, nil
}

// reserved finds the one id that looks like a task's and is not: on the queue and in the log it is the master's.
func reserved(p spec.Plan) []spec.Problem {
	var out []spec.Problem
	for i := range p.Tasks {
		if p.Tasks[i].ID == MasterTask {
			out = append(out, spec.Problem{
				Path: fmt.Sprintf("tasks[%d].id", i), Message: fmt.Sprintf("task id %q is the master's own", MasterTask),
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

// PlanError is a plan that cannot be carried out, with every fault found.
type PlanError struct{ Problems []spec.Problem }

// Error lists the faults, one a line.
func (e *PlanError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// readPlan expands the plan file's plan, once: the expansion is an event that nothing expands again.
func (c *Conductor) readPlan(ctx context.Context) (bool, error) {
	if c.st.Run != RunRunning || c.st.Spec.Plan == nil || len(c.st.Plans) > 0 {
		return false, nil
	}
	data, problems, err := Prepare(ctx, *c.st.Spec.Plan, c.st.Spec, nil, c.cfg.Tree(c.st.Spec.Base))
	if err != nil {
		return false, err
	}
	if len(problems) > 0 {
		return false, &PlanError{problems}
	}
	data.By = ByFile
	return true, c.append(ctx, contextscope.KindPlan, "", data)
}

// settleMaster acts upon what the master's newest attempt gave back: a plan, a wait, the end, or a failure.
func (c *Conductor) settleMaster(ctx context.Context) (bool, error) {
	w := c.st.Works[MasterTask]
	if w == nil || c.st.Woken >= w.Last {
		return false, nil
	}
	r := c.st.Settled(MasterTask)
	switch {
	case r == nil:
		return false, nil
	case r.Status != spec.StatusDone:
		return c.masterFailed(ctx, faultOf(r))
	case r.Plan != nil:
		return c.takePlan(ctx, r)
	case c.st.Quiet() && !c.st.newsFor(w.Last).any():
		return true, c.append(ctx, contextscope.KindTask, MasterTask, TaskData{State: TaskDone, Reason: r.Handoff.Summary})
	default:
		return true, c.append(ctx, contextscope.KindTask, MasterTask, TaskData{State: TaskPending, Reason: "waits for its tasks"})
	}
}

func (c *Conductor) masterFailed(ctx context.Context, f spec.Fault) (bool, error) {
	paused, err := c.pause(ctx, MasterTask, f, func() error {
		return c.append(ctx, contextscope.KindTask, MasterTask, TaskData{State: TaskPending, Reason: f.Message, Again: true})
	})
	if paused || err != nil {
		return true, err
	}
	return true, c.append(ctx, contextscope.KindTask, MasterTask, TaskData{State: TaskPending, Reason: f.Message, Fault: &f})
}

// takePlan makes the tasks of a dispatch call the run's. The tool has checked the plan already; what it could not see, such
// as a task that came in between, goes back to the master.
func (c *Conductor) takePlan(ctx context.Context, r *spec.Result) (bool, error) {
	data, problems, err := Prepare(ctx, *r.Plan, c.st.Spec, c.st.tasks(), c.cfg.Tree(c.st.Head))
	if err != nil {
		return false, err
	}
	if len(problems) > 0 {
		e := &PlanError{problems}
		return c.masterFailed(ctx, spec.Fault{Class: "plan", Message: "the plan cannot be carried out", Detail: e.Error()})
	}
	data.By = wire.AgentID(MasterTask, r.Attempt)
	if err := c.append(ctx, contextscope.KindPlan, "", data); err != nil {
		return false, err
	}
	if c.st.Run == RunPlanning && c.st.PlanWrites(len(c.st.Plans)-1) {
		return true, c.append(ctx, contextscope.KindRun, "", RunData{State: RunRunning})
	}
	return true, nil
}

// askApproval shows a plan that writes to a person. The answer comes back on a channel; readers go on meanwhile.
func (c *Conductor) askApproval(ctx context.Context) (bool, error) {
	at := c.st.untaken()
	if at < 0 || c.asked == at+1 {
		return false, nil
	}
	if c.cfg.Approve == nil {
		return false, fmt.Errorf("%w: pass --yes, or run on a terminal", ErrNotApproved)
	}
	c.asked = at + 1
	plan := c.st.Plans[at]
	c.asking.Go(func() {
		yes, err := c.cfg.Approve(ctx, plan)
		select {
		case c.answers <- answer{at + 1, yes, err}:
		case <-ctx.Done():
		}
	})
	return false, nil
}

// untaken is the index of the oldest plan that writes and that nobody has taken; -1 when there is none.
func (s *State) untaken() int {
	for i := s.Approved; i < len(s.Plans) && !s.Spec.AutoApprove; i++ {
		if p := &s.Plans[i]; p.By != ByFile && p.Request == "" && s.PlanWrites(i) {
			return i
		}
	}
	return -1
}

// ErrNotApproved says that nobody took the plan.
var ErrNotApproved = errors.New("the plan was not approved")

func (c *Conductor) decided(ctx context.Context, a answer) error {
	if a.err != nil {
		return fmt.Errorf("ask for approval: %w", a.err)
	}
	if !a.yes {
		return c.stopped(ctx, "the plan was not approved")
	}
	return c.append(ctx, contextscope.KindRun, "", RunData{Approved: true, Plans: a.plan})
}
