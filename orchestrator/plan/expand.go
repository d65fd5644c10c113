package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/textfile"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
)

// Tree is one commit, read to expand a plan.
type Tree interface {
	// Files returns every regular file's path, Links that of every symbolic link, sorted.
	Files(ctx context.Context) ([]string, error)
	Links(ctx context.Context) ([]string, error)
	// Sizes returns the size of every regular file, in bytes.
	Sizes(ctx context.Context) (map[string]int64, error)
	// Read returns the content of one file.
	Read(ctx context.Context, file string) ([]byte, error)
	// Match returns how often the text of each of the given files matches, without those that do not, and which of them are
	// binaries.
	Match(ctx context.Context, p *textfile.Pattern, files []string) (matches map[string]int, binaries []string, err error)
	// Shards runs the command of a shard rule (by: command) in a clean tree and returns the lines that it printed.
	Shards(ctx context.Context, command []string) ([]string, error)
}

// Expansion is a plan over a tree.
type Expansion struct {
	Tasks []spec.Task
	// Notes are for the person who approves the plan, one sentence each.
	Notes []string
	// LeftOut are the files that templates match and whose shards may not change them.
	LeftOut []run.LeftOut
	// Later are the templates that expand later, foreseen the tasks that they would expand to now, where that is known.
	Later    []run.Later
	foreseen []spec.Task
	// due reports that its one template was one of these: a command that prints nothing has nothing left to do.
	due bool
}

// expand turns templates into tasks. It returns every error that it finds; with one, no task. The same plan over the same
// tree expands to the same tasks. A task that waits for a template still names the template, which means all of its shards:
// a thousand shards that wait for a thousand others would else be a million names. A rule never unlocks a protected path: the
// shards of roles that write leave those files out.
func expand(
	ctx context.Context, plan spec.Plan, tree Tree, agenda *run.Agenda, m *mending,
) (Expansion, []spec.Problem, error) {
	var out Expansion
	var problems []spec.Problem
	roles, protected := agenda.Spec.Roles, agenda.Spec.Project.Protected
	for i, t := range plan.WithMends().Tasks {
		role := roles[t.Role]
		if !role.ChangesFiles() {
			t.Mends = nil
		}
		t.Constraints = append(slices.Clone(plan.Constraints), t.Constraints...)
		t.ShardOf, t.Rule, t.Unlocked = "", nil, nil
		t.ChangeSet, t.Together = t.Set(), false
		if t.Shard == nil {
			t.Unlocked = spec.Unlocks(t.Files, protected)
			out.Tasks = append(out.Tasks, t)
			continue
		}
		if isLater(&plan, &t, agenda, m) {
			if err := out.later(ctx, t, agenda, tree); err != nil {
				return Expansion{}, nil, err
			}
			continue
		}
		var had []spec.Task
		if m != nil {
			had = m.shards[t.ID]
		}
		problem, err := out.template(ctx, t, agenda, tree, had)
		if err != nil {
			return Expansion{}, nil, err
		}
		if problem != nil {
			problem.Path = fmt.Sprintf("tasks[%d].shard", i)
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		return Expansion{}, problems, nil
	}
	return out, duplicates(out.Tasks), nil
}

// template adds the shards of a template, which has some already. The problem is for its author, without a path.
func (x *Expansion) template(
	ctx context.Context, t spec.Task, agenda *run.Agenda, tree Tree, had []spec.Task,
) (*spec.Problem, error) {
	sizes, err := tree.Sizes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sizes of the files that shards hold: %w", err)
	}
	role := agenda.Spec.Roles[t.Role]
	s, writes := &sharding{rule: *t.Shard, sizes: sizes}, role.ChangesFiles()
	if writes {
		s.protected = agenda.Spec.Project.Protected
	}
	if had != nil {
		s.has(had)
	}
	problem, err := s.run(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("expand task %s: %w", t.ID, err)
	}
	if problem != "" {
		return &spec.Problem{Message: problem, Done: s.done || x.due && s.silent}, nil
	}
	for n, g := range s.groups {
		x.Tasks = append(x.Tasks, s.task(t, s.from+n, g, writes))
	}
	x.Notes = append(x.Notes, s.notes(t.ID)...)
	x.LeftOut = append(x.LeftOut, s.leftOut(t.ID)...)
	if first := cmp.Or(t.Canary, spec.DefaultCanary); role.Thinks() && writes && t.ChangeSet == "" && len(s.groups) > first {
		x.Notes = append(x.Notes, fmt.Sprintf("%s: %d of its %d shards run until the gates have passed on one",
			t.ID, first, len(s.groups)))
	}
	return nil, nil
}

func duplicates(tasks []spec.Task) []spec.Problem {
	seen := map[string]bool{}
	var out []spec.Problem
	for _, t := range tasks {
		if seen[t.ID] {
			message := fmt.Sprintf("two tasks have the id %s once shards are expanded", t.ID)
			out = append(out, spec.Problem{Path: "tasks", Message: message})
		}
		seen[t.ID] = true
	}
	return out
}

// Ceiling returns the most tokens that the tasks may use, every attempt and its judge counted, and zero when no model takes part.
func Ceiling(tasks []spec.Task, roles map[string]spec.Role, project spec.Project) int {
	sum := 0
	for _, t := range tasks {
		role := roles[t.Role]
		judge := roles[t.Judge(role, roles, len(t.Constraints) > 0)]
		if role.Runs(spec.ExecutorModel) {
			sum += cmp.Or(t.Limits.Tokens, role.Limits.Tokens, project.Limits.Tokens) * max(1, t.Attempts)
		}
		if judge.Runs(spec.ExecutorModel) {
			sum += cmp.Or(judge.Limits.Tokens, project.Limits.Tokens) * max(1, t.Attempts)
		}
	}
	return sum
}

// agents counts the tasks that each coding agent does whose use nothing tells yet; nil where there are none.
func agents(tasks []spec.Task, s *run.Spec) (by map[string]int) {
	for _, t := range tasks {
		agent := s.Roles[t.Role].Usage
		if agent == "" || slices.ContainsFunc(s.Habits, func(h forecast.Habit) bool { return h.Role == t.Role }) {
			continue
		}
		if by == nil {
			by = map[string]int{}
		}
		by[agent]++
	}
	return by
}
