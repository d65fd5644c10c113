package rebase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/run"
)

// unit is landed work that moves together: commits that share files.
type unit struct {
	steps []step
	tasks []string
	files map[string]bool
}

// move is a run that moves onto another base, while its plan is made.
type move struct {
	*Source
	draft *git.Draft
	tree  string
	// touched are the files that the base has changed.
	touched map[string]bool
	next    conduct.Succession
	// kept are the tasks with a patch, again those of the earlier run that are done again; there are the tasks whose work the
	// base has, waits the templates that find what is left.
	kept, again, there, waits []string
}

// Move plans a run that moves what has landed onto the base. Where files of a task are touched there, or it conflicts, it is done
// again: by its template, which finds new matches as well, else as it was.
func (s *Source) Move(ctx context.Context) (n conduct.Succession, err error) {
	if s.Base == s.State.Spec.Base {
		return n, usage.Errorf("run %s began with %.12s, where %s is: there is nothing to move", s.State.Spec.Run, s.Base, s.Onto)
	}
	m := &move{Source: s, draft: s.repo.Draft(), touched: map[string]bool{}, next: s.next()}
	m.next.Spec.Moves = s.State.Spec.Run
	m.next.Plan.Goal = text.Line(cmp.Or(s.State.Spec.Goal, "Run "+s.State.Spec.Run))
	if p := s.State.Spec.Plan; p != nil {
		m.next.Plan.DecisionRecord, m.next.Plan.Constraints = p.DecisionRecord, p.Constraints
	}
	changes, err := s.repo.Changed(ctx, s.State.Spec.Base, s.Base)
	if err != nil {
		return n, err
	}
	for _, c := range changes {
		m.touched[c.Path] = true
	}
	if m.tree, err = s.repo.Tree(ctx, s.Base); err != nil {
		return n, err
	}
	units, err := s.units(ctx)
	if err != nil {
		return n, err
	}
	for i := range units {
		if err := m.carry(ctx, &units[i]); err != nil {
			return n, err
		}
	}
	if err := m.templates(ctx); err != nil {
		return n, err
	}
	m.repeat()
	if len(m.next.Plan.Tasks) == 0 {
		return n, usage.Errorf("%s has all that run %s has landed: there is nothing to move", s.Onto, s.State.Spec.Run)
	}
	m.tell()
	return m.next, nil
}

// units are the landed commits in groups that share no file, each with its tasks, oldest first. What was taken out again is in
// one with what took it out.
func (s *Source) units(ctx context.Context) ([]unit, error) {
	steps, err := s.steps(ctx)
	if err != nil {
		return nil, err
	}
	var units []unit
	for _, one := range steps {
		if t := s.State.Tasks.ByID[one.tasks[0]]; len(t.Task.Through) > 0 {
			return nil, usage.Errorf("run %s has a passage, which is not moved in parts: begin it again on %s",
				s.State.Spec.Run, s.Onto)
		}
		u := unit{steps: []step{one}, tasks: one.tasks, files: map[string]bool{}}
		for _, file := range one.files {
			u.files[file] = true
		}
		apart := units[:0:0]
		for _, had := range units {
			if !slices.ContainsFunc(one.files, func(file string) bool { return had.files[file] }) {
				apart = append(apart, had)
				continue
			}
			u.steps, u.tasks = append(had.steps, u.steps...), append(had.tasks, u.tasks...)
			for file := range had.files {
				u.files[file] = true
			}
		}
		units = append(apart, u)
	}
	return units, nil
}

// carry has a unit begin with its patch on the base, or notes that it is done again.
func (m *move) carry(ctx context.Context, u *unit) error {
	tree, stale := m.tree, false
	for file := range u.files {
		stale = stale || m.touched[file]
	}
	for _, one := range u.steps {
		if stale {
			break
		}
		left, conflicts, err := m.apply(ctx, m.draft, tree, one.commit.Parents[0], one.commit.Tree)
		if err != nil {
			return err
		}
		tree, stale = left, len(conflicts) > 0
	}
	if stale {
		there, err := m.isThere(ctx, u)
		if there {
			m.there = append(m.there, u.tasks...)
		} else {
			m.again = append(m.again, u.tasks...)
		}
		return err
	}
	p, pack, err := m.patch(ctx, m.draft, tree, text.Some(u.tasks, maxNamed))
	if err != nil || p == nil { // taken out again
		return err
	}
	t := m.taskOf(u, p)
	m.kept = append(m.kept, t.ID)
	begin(&m.next, t, p, pack)
	return nil
}

// isThere reports whether the base has the files of a unit as they have landed.
func (m *move) isThere(ctx context.Context, u *unit) (bool, error) {
	changes, err := m.repo.Changed(ctx, m.State.Head, m.Base)
	return !slices.ContainsFunc(changes, func(c git.Change) bool { return u.files[c.Path] }), err
}

// taskOf is the task of a unit: the one that it is, or a task for all of them, which has no next attempt.
func (m *move) taskOf(u *unit, p *spec.Patch) spec.Task {
	t := m.State.Tasks.ByID[u.tasks[0]].Task
	t = plain(t, m.keptID(t.ID))
	t.DependsOn, t.Inputs = nil, nil
	if len(u.tasks) > 1 {
		t.Title, t.Attempts = text.Line("kept: "+text.Some(u.tasks, maxNamed)), 1
	}
	for _, file := range p.Files {
		if !spec.MatchAny(t.Files, file) {
			t.Files = append(slices.Clip(t.Files), file)
		}
	}
	return t
}

// maxStem bounds what the id of a task that was kept has of the one before: an id has at most 64 bytes.
const maxStem = 50

// keptID is an id that no task has, for one that was kept, once or more.
func (m *move) keptID(id string) string {
	stem := "kept-" + strings.TrimPrefix(id[:min(len(id), maxStem)], "kept-")
	out := stem
	for n := 2; slices.Contains(m.kept, out); n++ {
		out = fmt.Sprintf("%s-%d", stem, n)
	}
	return out
}

// plain is a task without what code alone sets.
func plain(t spec.Task, id string) spec.Task {
	t.ID, t.ShardOf, t.Rule, t.Unlocked, t.ChangeSet = id, "", nil, nil, ""
	t.Files = slices.Concat(t.Files, t.Creates)
	t.Remaining, t.Creates, t.Canary, t.Together = "", nil, 0, false
	return t
}

// templates adds the templates whose rule finds what is left: they expand when what was kept has landed.
func (m *move) templates(ctx context.Context) error {
	if m.State.Spec.Plan == nil {
		return nil
	}
	for _, t := range m.State.Spec.Plan.Tasks {
		if t.Shard == nil || len(m.kept) == 0 && t.Shard.By != byFinding && !m.hasShard(t.ID) {
			continue
		}
		finds, err := m.finds(ctx, &t)
		if err != nil {
			return err
		}
		if finds {
			t.DependsOn, t.Inputs = m.kept, []string{}
			m.waits = append(m.waits, t.ID)
			m.next.Plan.Tasks = append(m.next.Plan.Tasks, t)
		}
	}
	m.again = slices.DeleteFunc(m.again, func(id string) bool {
		return slices.Contains(m.waits, m.State.Tasks.ByID[id].Task.ShardOf)
	})
	return nil
}

// hasShard reports whether a shard of a template is to be done again.
func (m *move) hasShard(template string) bool {
	return slices.ContainsFunc(m.again, func(id string) bool { return m.State.Tasks.ByID[id].Task.ShardOf == template })
}

// The kinds of shard rules that find what is left.
const (
	byFinding = "finding"
	byCommand = "command"
)

// maxFile bounds a file that is searched for what is left.
const maxFile = 4 << 20

// finds reports whether the rule of a template finds nothing in what was kept, so that it can look again.
func (m *move) finds(ctx context.Context, t *spec.Task) (bool, error) {
	switch {
	case t.Shard.By == byFinding || t.Shard.By == byCommand:
		return true, nil
	case t.Shard.Match == "":
		return false, nil
	}
	match, err := regexp.Compile(t.Shard.Match)
	if err != nil {
		return false, fmt.Errorf("the match of template %s: %w", t.ID, err)
	}
	for _, id := range m.kept {
		p := m.next.Spec.Carried[id]
		for _, file := range p.Files {
			content, err := m.repo.ReadFile(ctx, p.Commit, file, maxFile)
			if errors.Is(err, git.ErrNotFound) {
				continue // it was removed
			}
			if err != nil || match.Match(content) {
				return false, err
			}
		}
	}
	return true, nil
}

// repeat adds the tasks that are done again as they were, with the tasks without a patch that they have their input from.
func (m *move) repeat() {
	added := map[string]bool{}
	var add func(id string)
	add = func(id string) {
		of := m.State.Tasks.ByID[id]
		if of == nil || added[id] {
			return
		}
		added[id] = true
		t := plain(of.Task, id)
		for _, dep := range of.Task.DependsOn {
			if d := m.State.Tasks.ByID[dep]; d != nil && d.State == run.TaskDone {
				add(dep)
			}
		}
		gone := func(ref string) bool { name, _, _ := strings.Cut(ref, "/"); return !added[name] }
		t.DependsOn = slices.DeleteFunc(slices.Clone(t.DependsOn), gone)
		if t.Inputs != nil {
			t.Inputs = slices.DeleteFunc(slices.Clone(t.Inputs), gone)
		}
		m.next.Plan.Tasks = append(m.next.Plan.Tasks, t)
	}
	for _, id := range m.again {
		add(id)
	}
}

// tell says what moves, and what does not.
func (m *move) tell() {
	say := func(format string, args ...any) {
		m.next.Notices = append(m.next.Notices, fmt.Sprintf(format, args...))
	}
	say("moves run %s from %.12s to %.12s, %s", m.State.Spec.Run, m.State.Spec.Base, m.Base, m.Onto)
	if m.Rewritten {
		say("%s was rewritten: it does not have the commit that run %s began with; the files of both are compared", m.Onto,
			m.State.Spec.Run)
	}
	for _, l := range []struct {
		what  string
		tasks []string
	}{
		{"moved, and proven again as one batch", m.kept},
		{"done again, because their files have changed or conflict", m.again},
		{"not moved, because the base has their work", m.there},
		{"templates that do again what has changed, and what is new", m.waits},
	} {
		if len(l.tasks) > 0 {
			say("%s: %s", l.what, text.Some(l.tasks, maxNamed))
		}
	}
}
