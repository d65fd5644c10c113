package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

// dispatch is the tool with which a master plans: its argument is a plan, in the schema of plan files. It checks and expands the
// plan while the master can still fix it; the conductor does the same once more and makes it the run's. It ends the turn:
// the master is called when the tasks have ended.
type dispatch struct {
	check func(ctx context.Context, p spec.Plan) (Checked, error)

	mu sync.Mutex
	// plan is the plan dispatched by this attempt so far: calls of one turn add up.
	plan *spec.Plan
}

// Checked is the result of a plan on the present run: problems of it, or how many tasks it has, the most tokens that they may
// use, and notes.
type Checked struct {
	Problems []spec.Problem `json:"problems,omitempty"`
	Tasks    int            `json:"tasks,omitempty"`
	Ceiling  int            `json:"ceiling,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
}

// Check prepares a plan as it would be for the run, and changes nothing.
func Check(ctx context.Context, p spec.Plan, agenda *run.Agenda, works run.Works, tree Tree) (Checked, error) {
	data, problems, err := Prepare(ctx, p, agenda, works, tree)
	return Checked{problems, len(data.Tasks), data.Ceiling, data.Notes}, err
}

// NewTool returns dispatch for one attempt of a run's master, which learns from it the roles that a task can have. check is Check
// on the run.
func NewTool(check func(ctx context.Context, p spec.Plan) (Checked, error), roles map[string]spec.Role) tool.Tool {
	d := &dispatch{check: check}
	// It writes: what it plans must come after everything else of its turn.
	return tool.New(spec.ToolDispatch, strings.ReplaceAll(dispatchDescription, "\n", " ")+listRoles(roles), tool.Writes, d.run)
}

// Tools returns what makes the tools of an attempt beside those that every worker has: dispatch, where its role has that. checks
// returns Check on the run of the attempt.
func Tools(
	checks func(*wire.Assignment) func(ctx context.Context, p spec.Plan) (Checked, error), roles map[string]spec.Role,
) func(*wire.Assignment) []tool.Tool {
	return func(a *wire.Assignment) []tool.Tool {
		if !slices.Contains(a.Role.Tools, spec.ToolDispatch) {
			return nil
		}
		return []tool.Tool{NewTool(checks(a), roles)}
	}
}

// maxRoleText bounds, in characters, the description of one role.
const maxRoleText = 200

// listRoles lists which roles a task can have, one a line. Descriptions come from files: they are quoted.
func listRoles(roles map[string]spec.Role) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role := roles[name]
		if name == spec.RoleMaster || name == spec.RoleTester {
			continue
		}
		fmt.Fprintf(&b, "\n- %s", name)
		if role.ChangesFiles() {
			b.WriteString(", which changes files")
		}
		if about := strings.Join(strings.Fields(role.Description), " "); about != "" {
			fmt.Fprintf(&b, ": %q", text.Runes(about, maxRoleText))
		}
	}
	return " The roles that a task can have:" + b.String()
}

const dispatchDescription = `Dispatch tasks. They run in parallel as soon as their dependencies and write sets allow;
the runtime tests and lands each patch. A task with a shard rule is a template: code expands it into one task for
each group of files, so never list similar files by hand. Readers answer questions with findings; generators change
files. Your turn ends with this call; you are called again, with all their reports, when every task has ended. Put
all tasks of one step into one call.`

func (d *dispatch) run(ctx context.Context, p spec.Plan) tool.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	merged := d.join(p)
	checked, err := d.check(ctx, merged)
	if err != nil {
		return tool.Failed("the plan could not be checked: %v", err)
	}
	if len(checked.Problems) > 0 {
		return tool.Failed("nothing was dispatched; fix all of this and call dispatch again:\n%s",
			(&spec.PlanError{Problems: checked.Problems}).Error())
	}
	d.plan = &merged
	text := fmt.Sprintf("accepted: %d tasks, at most %d tokens. You will be called when all of them have ended.",
		checked.Tasks, checked.Ceiling)
	return tool.Result{
		Output: map[string]any{"output": strings.Join(append([]string{text}, checked.Notes...), "\n")},
		Ends:   true, Plan: &merged, Doing: fmt.Sprintf("dispatched %d tasks", checked.Tasks),
	}
}

// join adds a plan to what this attempt has dispatched already.
func (d *dispatch) join(p spec.Plan) spec.Plan {
	if d.plan == nil {
		return p
	}
	out := d.plan.WithMends()
	out.Tasks = append(out.Tasks, p.WithMends().Tasks...)
	out.Constraints = append(out.Constraints[:len(out.Constraints):len(out.Constraints)], p.Constraints...)
	if p.DecisionRecord != "" && p.DecisionRecord != out.DecisionRecord {
		out.DecisionRecord = strings.TrimSpace(out.DecisionRecord + "\n\n" + p.DecisionRecord)
	}
	return out
}
