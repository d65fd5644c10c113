package rebase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/run"
)

// roleRevert is that of the task with the inverse patch. Its command, which has nothing to do, never runs.
const roleRevert = "revert"

// Revert plans a run that takes out what the tasks have landed, with what depends on them; all of the run where none is named.
func (s *Source) Revert(ctx context.Context, tasks []string) (n conduct.Succession, err error) {
	chosen, err := s.chosen(tasks)
	if err != nil {
		return n, err
	}
	steps, err := s.steps(ctx)
	if err != nil {
		return n, err
	}
	d := s.repo.Draft()
	was, err := s.repo.Tree(ctx, s.Base)
	tree, conflicts := was, map[string][]string{}
	for _, one := range slices.Backward(steps) {
		if err != nil || !slices.ContainsFunc(one.tasks, func(id string) bool { return chosen[id] }) {
			continue
		}
		parent, perr := s.repo.Tree(ctx, one.commit.Parents[0])
		if perr != nil {
			return n, perr
		}
		left, paths, aerr := s.apply(ctx, d, tree, one.commit.ID, parent)
		if err = aerr; len(paths) == 0 && err == nil {
			tree = left
		}
		for _, path := range paths {
			conflicts[path] = append(conflicts[path], one.tasks...)
		}
	}
	switch {
	case err != nil:
		return n, err
	case len(conflicts) > 0:
		return n, s.tellConflicts(ctx, steps, conflicts)
	case tree == was:
		return n, usage.Errorf("%s has nothing of what is to be reverted", s.Onto)
	}
	ids := slices.Sorted(maps.Keys(chosen))
	title := fmt.Sprintf("Revert run %s: %s", s.State.Spec.Run, some(ids))
	p, pack, err := s.patch(ctx, d, tree, title)
	if err != nil {
		return n, err
	}
	n = s.next()
	n.Spec.Reverts = s.State.Spec.Run
	n.Spec.Roles = maps.Clone(n.Spec.Roles)
	n.Spec.Roles[roleRevert] = spec.Role{
		Name: roleRevert, Description: "Takes landed changes out.", Executor: spec.ExecutorCommand, Command: []string{"true"},
		Writes: true,
	}
	n.Plan.Goal = text.Line(title)
	begin(&n, spec.Task{
		ID: roleRevert, Title: n.Plan.Goal, Role: roleRevert, Brief: n.Plan.Goal, Files: p.Files, Attempts: 1,
	}, p, pack)
	return n, nil
}

// chosen are the landed tasks that go out: those that are named, what landed in one commit with them, and what depends on them.
func (s *Source) chosen(tasks []string) (map[string]bool, error) {
	all, chosen := &s.State.Tasks, map[string]bool{}
	for _, id := range tasks {
		switch t := all.ByID[id]; {
		case t == nil:
			return nil, usage.Errorf("run %s has no task %q", s.State.Spec.Run, id)
		case t.State != run.TaskLanded:
			return nil, usage.Errorf("%s is %s: only landed tasks can be reverted", id, t.State)
		}
		chosen[id] = true
	}
	for _, l := range s.State.Batches.Landed {
		for _, t := range l.Tasks {
			chosen[t.Task] = chosen[t.Task] || len(tasks) == 0
		}
	}
	for grown := len(tasks) > 0; grown; {
		grown = false
		for t := range all.All() {
			on := slices.ContainsFunc(t.After, func(ref string) bool {
				return slices.ContainsFunc(all.Members(ref), func(id string) bool { return chosen[id] })
			})
			set := all.Set(t) != nil && slices.ContainsFunc(all.Set(t).Members, func(m *run.Task) bool {
				return chosen[m.Task.ID]
			})
			if !chosen[t.Task.ID] && (on || set) {
				chosen[t.Task.ID], grown = true, true
			}
		}
	}
	maps.DeleteFunc(chosen, func(id string, in bool) bool {
		t := all.ByID[id]
		return !in || len(tasks) > 0 && t.State != run.TaskLanded
	})
	return chosen, nil
}

// tellConflicts is the error of changes that cannot be taken out, with what has touched their files since.
func (s *Source) tellConflicts(ctx context.Context, steps []step, conflicts map[string][]string) error {
	var lines []string
	own := map[string]bool{}
	for i := range steps {
		own[steps[i].commit.ID] = true
	}
	for _, path := range slices.Sorted(maps.Keys(conflicts)) {
		touched, err := s.Git.Touched(ctx, s.Checkout, s.State.Spec.Base, s.Base, path, own, maxNamed)
		if err != nil {
			return err
		}
		by := "another change"
		if len(touched) > 0 {
			by = some(touched)
		}
		lines = append(lines, fmt.Sprintf("%s, which %s changed, was touched by %s", path, some(conflicts[path]), by))
		if len(lines) == maxNamed {
			break
		}
	}
	return usage.Errorf("the changes of run %s cannot be taken out of %s as they are:\n%s\nRevert fewer tasks, or revert these "+
		"commits first", s.State.Spec.Run, s.Onto, strings.Join(lines, "\n"))
}
