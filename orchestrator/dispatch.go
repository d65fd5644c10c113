package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// dispatch parks what can never start and puts the first ready task on the queue.
func (c *Conductor) dispatch(ctx context.Context) (bool, error) {
	if c.st.Run != RunRunning && c.st.Run != RunPlanning || c.halt.on() {
		return false, nil
	}
	ready, doomed := c.st.Ready()
	for _, id := range c.st.Order {
		if why, ok := doomed[id]; ok {
			return true, c.park(ctx, c.st.Tasks[id], why, nil)
		}
	}
	for _, id := range ready {
		t := c.st.Tasks[id]
		if why, err := c.unfit(ctx, t); why != "" || err != nil {
			if err != nil {
				return false, fmt.Errorf("prepare %s: %w", id, err)
			}
			return true, c.park(ctx, t, why, nil)
		}
		d := Dispatch{Task: id, Attempt: t.Attempt + 1, Role: t.Task.Role, Head: c.baseOf(t), Tokens: c.st.allowance(t)}
		if err := c.dispatchAttempt(ctx, &d, contextscope.KindTask, id, TaskData{State: TaskRunning, Dispatch: &d}); err != nil {
			return false, err
		}
	}
	return len(ready) > 0, nil
}

// dispatchAttempt seals an attempt's assignment, appends the event whose data holds d, and puts the attempt on the queue. Every
// delivery, every resume and every look at the attempt reads what was sealed here, whatever becomes of the task later.
func (c *Conductor) dispatchAttempt(ctx context.Context, d *Dispatch, kind contextscope.Kind, task string, data any) error {
	if err := c.seal(ctx, d); err != nil {
		return err
	}
	if err := c.append(ctx, kind, task, data); err != nil {
		return err
	}
	return c.enqueue(ctx, *d)
}

// seal stores the assignment of an attempt, made from the state as it is now, and notes its name.
func (c *Conductor) seal(ctx context.Context, d *Dispatch) error {
	a, err := c.assignment(ctx, d)
	if err != nil {
		return fmt.Errorf("prepare %s/%d: %w", d.Task, d.Attempt, err)
	}
	name, data, err := a.Seal()
	if err == nil {
		err = c.cfg.Bus.Put(ctx, name, data)
	}
	if err != nil {
		return fmt.Errorf("store the assignment of %s/%d: %w", d.Task, d.Attempt, err)
	}
	d.Assignment = name
	return nil
}

// enqueue puts an attempt that the log says was dispatched on the queue. Doing it twice is harmless. The log of an older version
// names no assignment: the attempt is then given what the state says now.
func (c *Conductor) enqueue(ctx context.Context, d Dispatch) error {
	if d.Assignment == "" {
		if err := c.seal(ctx, &d); err != nil {
			return err
		}
	}
	data, err := json.Marshal(wire.Assignment{
		Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Object: d.Assignment,
	})
	if err != nil {
		return fmt.Errorf("encode %s/%d: %w", d.Task, d.Attempt, err)
	}
	msg, subject := fmt.Sprintf("%s.%s.%d.%d", c.cfg.Run, d.Task, d.Attempt, c.st.Epoch),
		bus.TaskSubject(d.Role, c.cfg.Run, queueToken(d.Task, d.Attempt))
	c.heard.Store(subject, c.cfg.Clock())
	err = c.cfg.Bus.Enqueue(ctx, subject, msg, data)
	if err != nil && !errors.Is(err, bus.ErrQueued) {
		return fmt.Errorf("put %s/%d on the queue: %w", d.Task, d.Attempt, err)
	}
	return nil
}

// queueToken is an attempt's place on the queue. Each attempt has its own, so that the next one need not wait until the
// worker has acknowledged the one before.
func queueToken(id string, attempt int) string { return fmt.Sprintf("%s--%d", id, attempt) }

// assignment is everything that an attempt is given, as the state is when it is dispatched.
func (c *Conductor) assignment(ctx context.Context, d *Dispatch) (*wire.Assignment, error) {
	s := &c.st.Spec
	a := &wire.Assignment{
		Run: c.cfg.Run, Attempt: d.Attempt, Goal: s.Goal, Project: s.Project, Role: s.Roles[d.Role], Head: d.Head,
	}
	if a.Role.Name == "" {
		return nil, fmt.Errorf("role %s is not among the run's", d.Role)
	}
	if task, ok := strings.CutSuffix(d.Task, verifySuffix); ok {
		return a, c.assignVerify(a, d.Task, task)
	}
	switch d.Task {
	case baselineTask:
		a.Setup = s.Project.Setup
		a.Task = gateTask(d.Task, "Run the gates on the base commit", nil)
	case finalTask:
		a.Baseline = c.st.Baseline
		a.Task = gateTask(d.Task, "Run the final gates", nil)
	case batchTask:
		a.Baseline = c.st.Baseline
		a.Task = gateTask(d.Task, "Run the gates on a batch", d.Gates)
	case MasterTask:
		c.assignMaster(a)
	default:
		return a, c.assignTask(ctx, a, c.st.Tasks[d.Task], d.Tokens)
	}
	if d.Task != MasterTask {
		a.Role = gatesAlone(a.Role)
	}
	return a, nil
}

// gatesAlone is a tester that only runs gates: the run's own gate runs have no patch that a model could judge.
func gatesAlone(r spec.Role) spec.Role {
	r.Executor = ""
	return r
}

func gateTask(id, title string, gates []string) spec.Task {
	return spec.Task{ID: id, Title: title, Role: spec.RoleTester, Gates: gates}
}

func (c *Conductor) assignVerify(a *wire.Assignment, id, of string) error {
	t := c.st.Tasks[of]
	if t == nil || t.Result == nil || t.Result.Patch == nil || t.Result.Patch.Commit != a.Head {
		return fmt.Errorf("task %s has no patch %s", of, a.Head)
	}
	r := t.Result
	a.Task = t.Task
	a.Task.Constraints = c.st.constraints(t)
	a.Task.ID, a.Task.Role, a.Task.Command = id, a.Role.Name, a.Role.Command
	a.Task.Title = "Verify " + of
	// The task's limits bound its own agent; gates take the time that they take.
	a.Task.Limits = a.Role.Limits.Or(c.st.Spec.Project.Limits)
	a.Patch, a.Baseline = r.Patch, c.st.Baseline
	a.DecisionRecord = c.st.Plans[t.Plan].DecisionRecord
	if a.Role.Executor != "" { // what the author says of its work is a claim to whoever judges it
		a.Inputs = []wire.Input{{Task: of, Role: t.Task.Role, Handoff: r.Handoff}}
	}
	return nil
}

func (c *Conductor) assignMaster(a *wire.Assignment) {
	a.Task = spec.Task{
		ID: MasterTask, Title: "Plan the run", Role: spec.RoleMaster, Brief: c.st.Spec.Goal, IncludeContents: spec.IncludeNone,
		Limits: a.Role.Limits.Or(c.st.Spec.Project.Limits),
	}
	for n := 1; n < a.Attempt; n++ {
		a.Continues = append(a.Continues, n)
	}
	// No message comes between the newest event of this conductor and the one that it appends next.
	a.From = cmp.Or(c.st.calledAt(a.Attempt), c.st.ConductorPos)
	if a.Attempt > 1 {
		a.Message = c.st.wakeMessage(a.Attempt)
	}
}

func (c *Conductor) assignTask(ctx context.Context, a *wire.Assignment, t *TaskView, tokens int) error {
	a.Task, a.Role = t.Task, carriedOutBy(a.Role, t.executorAt(&a.Role, a.Attempt))
	a.Task.Constraints = c.st.constraints(t)
	a.Task.Limits.Tokens = cmp.Or(tokens, a.Task.Limits.Tokens)
	a.DecisionRecord = c.st.Plans[t.Plan].DecisionRecord
	var err error
	if a.Inputs, err = c.inputs(ctx, t); err != nil {
		return err
	}
	for _, f := range t.Faults {
		p, err := c.prior(ctx, t, f)
		if err != nil {
			return err
		}
		a.Prior = append(a.Prior, p)
	}
	t.passOn(a)
	if slices.Contains(a.Role.Tools, spec.ToolDelegate) || slices.Contains(a.Role.Tools, spec.ToolTransfer) {
		a.Roles = c.st.calleesOf(&a.Role)
	}
	if slices.Contains(a.Role.Tools, spec.ToolRunGates) {
		a.Baseline = c.st.Baseline
	}
	a.Slice, err = c.slice(ctx, a, t)
	return err
}

// constraints are all that hold for a task: the run's, those of the tasks whose agents had it dispatched, the widest first, and
// its own. They go to every descendant word for word.
func (s *State) constraints(t *TaskView) []string {
	lists := [][]string{t.Task.Constraints}
	for up := s.dispatcher(t); up != nil; up = s.dispatcher(up) {
		lists = append(lists, up.Task.Constraints)
	}
	if s.Spec.Plan != nil {
		lists = append(lists, s.Spec.Plan.Constraints)
	}
	slices.Reverse(lists)
	return spec.Rules(lists...)
}

// dispatcher is the task whose agent had a task dispatched; nil for the master's and those of a plan file. It is older than the
// task.
func (s *State) dispatcher(t *TaskView) *TaskView {
	task, _, ok := splitAgent(s.Plans[t.Plan].By)
	up := s.Tasks[task]
	if !ok || up == nil || up.Plan >= t.Plan {
		return nil
	}
	return up
}

// prior tells how an earlier attempt ended and what it had changed. A patch that was refused before it was taken in is known
// to its fault alone.
func (c *Conductor) prior(ctx context.Context, t *TaskView, f AttemptFault) (wire.Prior, error) {
	p := wire.Prior{Attempt: f.Attempt, Fault: f.Fault, Summary: f.Summary}
	if f.Patch == nil {
		return p, nil
	}
	known, err := c.cfg.Mirror.Has(ctx, f.Patch.Commit)
	if err != nil {
		return p, fmt.Errorf("look for attempt %d: %w", f.Attempt, err)
	}
	if !known {
		return p, nil
	}
	// From the leased head: what a refused patch says of its base may not even be there.
	head := c.st.Works[t.Task.ID].Attempts[f.Attempt].Head
	diff, cut, err := c.cfg.Mirror.Diff(ctx, head, f.Patch.Commit, maxPriorDiff)
	if err != nil {
		return p, fmt.Errorf("read the diff of attempt %d: %w", f.Attempt, err)
	}
	if p.Diff = diff; cut {
		p.Diff += "\n… (more was changed)"
	}
	return p, nil
}

// maxPriorDiff bounds, in bytes, what the next attempt sees of a failed attempt's patch.
const maxPriorDiff = 12 << 10

func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("\n… %d bytes more", len(s)-most)
}

// Assignment reads what an attempt was given. attempt 0 means the newest.
func (s *State) Assignment(ctx context.Context, b *bus.Bus, id string, attempt int) (*wire.Assignment, error) {
	w := s.Works[id]
	if w == nil {
		return nil, fmt.Errorf("%s: %w", id, ErrNoAttempt)
	}
	if attempt == 0 {
		attempt = w.Last
	}
	v := w.Attempts[attempt]
	switch {
	case v == nil:
		return nil, fmt.Errorf("%s has %d attempts: %w: %d", id, w.Last, ErrNoAttempt, attempt)
	case v.Assignment == "":
		return nil, fmt.Errorf("%s: %w", wire.AgentID(id, attempt), ErrNotKept)
	}
	a, err := wire.Unseal(ctx, b, v.Assignment)
	if err != nil {
		return nil, fmt.Errorf("read what %s was given: %w", wire.AgentID(id, attempt), err)
	}
	return a, nil
}

var (
	// ErrNoAttempt says that a task was never dispatched, or not that often.
	ErrNoAttempt = errors.New("there is no such attempt")
	// ErrNotKept says that the version of Divisi that dispatched an attempt did not keep what it gave it.
	ErrNotKept = errors.New("an older version of Divisi dispatched it, and did not keep what the attempt was given")
)
