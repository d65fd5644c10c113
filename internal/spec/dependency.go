package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Dependencies returns the ids of the tasks that must be over before this one starts: depends_on, then the tasks of
// inputs, which imply a dependency. Each id once, in the order of writing.
func (t *Task) Dependencies() []string {
	inputs := make([]string, len(t.Inputs))
	for i, input := range t.Inputs {
		inputs[i], _ = SplitInput(input)
	}
	return Rules(t.DependsOn, inputs)
}

// SplitInput takes an input apart: a task, or task/artifact.
func SplitInput(input string) (task, artifact string) {
	task, artifact, _ = strings.Cut(input, "/")
	return task, artifact
}

// Circles returns the circles in the dependencies of the tasks, each as the ids along it with the first one repeated at
// the end. One circle is reported for each edge that closes one, in plan order.
func Circles(tasks []Task) [][]string {
	d := &circleFinder{edges: make(map[string][]string, len(tasks)), state: make(map[string]int8, len(tasks))}
	for i := range tasks {
		if _, twice := d.edges[tasks[i].ID]; !twice {
			d.edges[tasks[i].ID] = tasks[i].Dependencies()
		}
	}
	for i := range tasks {
		d.visit(tasks[i].ID)
	}
	return d.found
}

// circleFinder is a depth-first walk; a node is 0 unseen, 1 on the stack, 2 done.
type circleFinder struct {
	edges map[string][]string
	state map[string]int8
	stack []string
	found [][]string
}

func (d *circleFinder) visit(id string) {
	if d.state[id] != 0 {
		return
	}
	d.state[id] = 1
	d.stack = append(d.stack, id)
	for _, next := range d.edges[id] {
		if _, known := d.edges[next]; !known || next == id {
			continue // both are reported where they are written
		}
		if d.state[next] == 1 {
			from := slices.Index(d.stack, next)
			d.found = append(d.found, append(slices.Clone(d.stack[from:]), next))
			continue
		}
		d.visit(next)
	}
	d.stack = d.stack[:len(d.stack)-1]
	d.state[id] = 2
}

// DefaultAttempts is how often a task is tried when it does not say.
const DefaultAttempts = 5

// WithDefaults returns the task with every empty field filled from its role and the built-in defaults. It is applied
// once, when a plan is taken; slices are shared with the receiver.
func (t Task) WithDefaults(role Role) Task {
	if t.Inputs == nil {
		t.Inputs = t.DependsOn
	}
	t.Attempts = cmp.Or(t.Attempts, DefaultAttempts)
	t.IncludeContents = cmp.Or(t.IncludeContents, role.IncludeContents, IncludeNone)
	if len(t.Command) == 0 {
		t.Command = role.Command
	}
	t.Limits = t.Limits.Or(role.Limits)
	return t
}

// WithMends returns the plan with its mends in each task that has none of its own.
func (p Plan) WithMends() Plan {
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		if len(p.Tasks[i].Mends) == 0 {
			p.Tasks[i].Mends = p.Mends
		}
	}
	p.Mends = nil
	return p
}

// Judge returns the role that judges the task's patch: the one that it names, else a tester with an executor of its own, else the
// reviewer for what a model made, where constraints hold for the task. "" is none: the gates alone decide. role is the task's.
func (t *Task) Judge(role Role, roles map[string]Role, constrained bool) string {
	name := cmp.Or(t.Verify, RoleTester)
	if t.Verify == "" && roles[name].Executor == "" && constrained && role.Runs(ExecutorModel) && role.ChangesFiles() {
		name = RoleReviewer
	}
	if roles[name].Executor == "" {
		return ""
	}
	return name
}

// inputRole opens an input of a role that means tasks by their role.
const inputRole = "role:"

// WithRoleInputs returns the plan with the inputs of every task that names none filled from its role: depends_on, then what
// the role's inputs name of this plan. An id, or id/artifact, counts where the plan has such a task; role:NAME means every task
// of that role that stands before. It is applied before a plan is checked, since inputs are dependencies.
func (p Plan) WithRoleInputs(roles map[string]Role) Plan {
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Inputs != nil {
			continue
		}
		if more := p.roleInputs(i, roles[t.Role].Inputs); len(more) > 0 {
			t.Inputs = slices.Concat(t.DependsOn, more)
		}
	}
	return p
}

func (p *Plan) roleInputs(task int, wanted []string) []string {
	var inputs []string
	add := func(input string) {
		if !slices.Contains(p.Tasks[task].DependsOn, input) && !slices.Contains(inputs, input) {
			inputs = append(inputs, input)
		}
	}
	for _, input := range wanted {
		role, byRole := strings.CutPrefix(input, inputRole)
		id, _ := SplitInput(input)
		for i := range p.Tasks {
			switch t := &p.Tasks[i]; {
			case byRole && i < task && t.Role == role:
				add(t.ID)
			case !byRole && t.ID == id && i != task:
				add(input)
			}
		}
	}
	return inputs
}

// inputProblems faults inputs of a role that can never mean a task.
func (r *Role) inputProblems(v *problems) {
	for i, input := range r.Inputs {
		path := fmt.Sprintf("inputs[%d]", i)
		if role, byRole := strings.CutPrefix(input, inputRole); byRole {
			if !roleName.MatchString(role) || role == RoleMaster || role == RoleTester {
				v.addf(path, "", "input %q names no role with results", input)
			}
			continue
		}
		id, artifact := SplitInput(input)
		if !taskID.MatchString(id) || strings.Contains(input, "/") && artifact == "" {
			v.addf(path, "", "input %q must be a task's id, id/artifact, or %sNAME for every task of a role", input, inputRole)
		}
	}
}

// Or returns the limits with every zero replaced by the other's value.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		Turns: cmp.Or(l.Turns, other.Turns), Tokens: cmp.Or(l.Tokens, other.Tokens),
		ToolCalls: cmp.Or(l.ToolCalls, other.ToolCalls), Time: cmp.Or(l.Time, other.Time),
		Idle: cmp.Or(l.Idle, other.Idle), Call: cmp.Or(l.Call, other.Call), Tool: cmp.Or(l.Tool, other.Tool),
	}
}

// Renewed returns the task with what it had from its role, when WithDefaults filled it in, taken from a newer form of the role.
func (t Task) Renewed(had, role Role) Task {
	if slices.Equal(t.Command, had.Command) {
		t.Command = role.Command
	}
	l, old, now := t.Limits, had.Limits, role.Limits.Or(t.Limits)
	t.Limits = Limits{
		Turns: renewed(l.Turns, old.Turns, now.Turns), Tokens: renewed(l.Tokens, old.Tokens, now.Tokens),
		ToolCalls: renewed(l.ToolCalls, old.ToolCalls, now.ToolCalls), Time: renewed(l.Time, old.Time, now.Time),
		Idle: renewed(l.Idle, old.Idle, now.Idle), Call: renewed(l.Call, old.Call, now.Call),
		Tool: renewed(l.Tool, old.Tool, now.Tool),
	}
	return t
}

// renewed is a value that was had from elsewhere as it is there now.
func renewed[T comparable](mine, had, now T) T {
	if mine == had {
		return now
	}
	return mine
}

// ShardID names the n-th task (from 1) that a template is expanded to.
func ShardID(template string, n int) string { return fmt.Sprintf("%s-%03d", template, n) }
