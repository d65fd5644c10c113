package act

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Retry opens tasks again that were given up.
type Retry struct {
	Tasks []string `json:"tasks,omitempty" jsonschema:"The ids of the tasks, or of templates; none for all that were given up."`
	Brief string   `json:"brief,omitempty" jsonschema:"A new brief for each of them, in place of its own."`
	Role  string   `json:"role,omitempty" jsonschema:"Their role from now on."`
	Model string   `json:"model,omitempty" jsonschema:"Their model from now on: an alias or a name."`
	// Forgotten adds a task for the files that parked tasks fail in and that no task may change, and tests it with what they
	// handed in; nothing else begins again but what failed by itself too. Brief and Role are then those of the new task.
	Forgotten bool `json:"forgotten,omitempty" jsonschema:"Only add a task for files that the gates fail in and no task may change."`
	// Changed lists the changes in the files of the run since it read them.
	Changed Changed `json:"-"`
}

// Changed holds the files that a run reads again: its plan file, where a person has edited it, the roles and the project that are
// other ones now, and what has changed, in sentences.
type Changed struct {
	Plan    *spec.Plan           `json:"plan,omitempty"`
	Roles   map[string]spec.Role `json:"roles,omitempty"`
	Project *spec.Project        `json:"project,omitempty"`
	Notices []string             `json:"notices,omitempty"`
}

// Act implements Args.
func (Retry) Act() string { return "retry" }

// Retriable returns why the tasks cannot be tried again, which is known before any file is read.
func (r *Retry) Retriable(s *run.State) error { return request.Retriable(&s.Agenda, r.Tasks) }

func (r *Retry) with() any { return &r.Changed }

var _ = defineWith(Entry{
	Warn: "All tasks that are parked are tried again.", WarnTask: "A new attempt begins.",
	Fits: func(s *run.State, t *run.Task) bool {
		if t != nil {
			return t.GivenUp()
		}
		for t := range s.Tasks.All() {
			if t.State == run.TaskParked {
				return true
			}
		}
		return false
	},
	Help: "Retry parked or cancelled tasks, and continue the run.",
	Who:  Local | Owner, On: Running | AtRest | Ended, Undo: "cancel", NoTool: []string{"role", "model"},
}, tryAgain)

// tryAgain opens tasks again, with what their files have now: roles, the project, and the plan with what it has gained.
func tryAgain(ctx context.Context, h Hands, s *run.State, a Retry, by string) ([]run.Action, string, error) {
	files := a.Changed
	if (files.Plan != nil || files.Roles != nil || files.Project != nil) && h.Signed() {
		return nil, "", request.Refusedf(
			"run %s was submitted: it keeps its plan, roles and settings, which its person has signed", s.Spec.Run)
	}
	if a.Forgotten {
		return complete(ctx, h, s, a, by)
	}
	var gained run.PlanData
	if files.Plan != nil {
		data, problems, err := plan.Gain(ctx, *files.Plan, &s.Agenda, s.Works, h.Tree())
		if err != nil {
			return nil, "", fmt.Errorf("read the additions to the plan file: %w", err)
		}
		if len(problems) > 0 {
			return nil, "", request.Refusedf("the edited plan: %s", (&spec.PlanError{Problems: problems}).Error())
		}
		gained = data
	}
	for i, t := range gained.Tasks { // they were prepared with the roles that the run has
		if role, changed := files.Roles[t.Role]; changed {
			gained.Tasks[i] = t.Renewed(s.Spec.Roles[t.Role], role)
		}
	}
	with := files.in(s)
	actions, opened, err := request.Retry(&with.Agenda, s.Works, a.Tasks,
		run.Revision{By: by, Brief: a.Brief, Role: a.Role, Model: a.Model},
		files.Plan, gained)
	if err != nil {
		return nil, "", err
	}
	actions = append(files.events(), actions...)
	if files.Plan != nil {
		actions = append(actions, run.SetRun(run.Data{File: files.Plan}))
	}
	var done []string
	if len(opened) > 0 {
		done = append(done, "tried again: "+text.Some(opened, maxNamed))
	}
	if tested := testedAgain(actions); len(tested) > 0 {
		done = append(done, "tested again: "+text.Some(tested, maxNamed))
	}
	if len(gained.Tasks) > 0 {
		done = append(done, "new: "+plan.Names(gained.Tasks, maxNamed))
	}
	return actions, strings.Join(done, "; "), nil
}

// in is the state of a run with the roles as they are now.
func (f *Changed) in(s *run.State) *run.State {
	with := *s
	with.Spec.Roles = maps.Clone(with.Spec.Roles)
	maps.Copy(with.Spec.Roles, f.Roles)
	return &with
}

// events are the events of a run about the files.
func (f *Changed) events() []run.Action {
	if len(f.Notices) == 0 {
		return nil
	}
	return []run.Action{run.SetRun(run.Data{Roles: f.Roles, Project: f.Project, Notices: f.Notices})}
}

// testedAgain are the tasks whose patches are tested again without another attempt.
func testedAgain(actions []run.Action) (ids []string) {
	for _, action := range actions {
		a, appends := action.(run.Append)
		if d, ofTask := a.Data.(run.TaskData); appends && ofTask && d.State == run.TaskAccepted {
			ids = append(ids, a.Task)
		}
	}
	return ids
}

// complete adds tasks for the files that parked tasks fail in and that no task may change.
func complete(ctx context.Context, h Hands, s *run.State, a Retry, by string) ([]run.Action, string, error) {
	with := a.Changed.in(s)
	tree := h.Tree()
	files, err := tree.Files(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("list the files of the integration head: %w", err)
	}
	f, err := request.FindForgotten(&with.Agenda, a.Tasks, a.Role, a.Brief, func(file string) bool {
		return slices.Contains(files, file)
	})
	if err != nil {
		return nil, "", err
	}
	data, problems, err := plan.Add(ctx, f.Tasks, f.Joins, &with.Agenda, with.Works, tree)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("prepare a task for forgotten files: %w", err)
	case len(problems) > 0:
		return nil, "", request.Refusedf("a task for %s: %s", text.Some(f.Tasks[0].Files, maxNamed),
			(&spec.PlanError{Problems: problems}).Error())
	}
	actions, again := request.Complete(&with.Agenda, f, data, by)
	done := make([]string, 0, len(data.Tasks)+1)
	for i := range data.Tasks {
		t := &data.Tasks[i]
		done = append(done, fmt.Sprintf("new: %s for %s, tested with the patch of %s", t.ID, text.Some(t.Files, maxNamed),
			text.Some(f.Waiting(t.ChangeSet), maxNamed)))
	}
	if len(again) > 0 {
		done = append(done, "tried again: "+text.Some(again, maxNamed))
	}
	return append(a.Changed.events(), actions...), strings.Join(done, "; "), nil
}
