package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// tryAgain opens tasks again, with what their files have now: roles, the project, and the plan with what it has gained. All of it
// is one message of the log, so that a kill leaves nothing half done.
func (c *Conductor) tryAgain(ctx context.Context, q Request) (string, error) {
	var gained run.PlanData
	if q.Forgotten {
		return c.complete(ctx, q)
	}
	if c.cfg.Ordered && (q.Plan != nil || q.Roles != nil || q.Project != nil) {
		return "", request.Refusedf("run %s was submitted: it keeps its plan, roles and settings, which its person has signed",
			c.cfg.Run)
	}
	if q.Plan != nil {
		data, problems, err := plan.Gain(ctx, *q.Plan, c.st, c.cfg.Tree(c.st.Head, c.st.Environment()))
		if err != nil {
			return "", fmt.Errorf("read what the plan file has gained: %w", err)
		}
		if len(problems) > 0 {
			return "", request.Refusedf("the edited plan: %s", (&spec.PlanError{Problems: problems}).Error())
		}
		gained = data
	}
	for i, t := range gained.Tasks { // they were prepared with the roles that the run has
		if role, changed := q.Roles[t.Role]; changed {
			gained.Tasks[i] = t.Renewed(c.st.Spec.Roles[t.Role], role)
		}
	}
	q.Revision.By = q.By
	actions, opened, err := request.Retry(c.st, q.Tasks, q.Revision, q.Plan, gained)
	if err != nil {
		return "", err
	}
	if len(q.Notices) > 0 {
		changed := run.SetRun(run.Data{Roles: q.Roles, Project: q.Project, Notices: q.Notices})
		actions = append([]run.Action{changed}, actions...)
	}
	if q.Plan != nil {
		actions = append(actions, run.SetRun(run.Data{File: q.Plan}))
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
	return strings.Join(done, "; "), c.atOnce(ctx, actions)
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
func (c *Conductor) complete(ctx context.Context, q Request) (string, error) {
	with := *c.st
	with.Spec.Roles = maps.Clone(with.Spec.Roles)
	maps.Copy(with.Spec.Roles, q.Roles)
	tree := c.cfg.Tree(c.st.Head, c.st.Environment())
	files, err := tree.Files(ctx)
	if err != nil {
		return "", fmt.Errorf("list the files of the integration head: %w", err)
	}
	f, err := request.FindForgotten(&with, q.Tasks, q.Revision.Role, q.Revision.Brief, func(file string) bool {
		return slices.Contains(files, file)
	})
	if err != nil {
		return "", err
	}
	data, problems, err := plan.Add(ctx, f.Tasks, f.Joins, &with, tree)
	switch {
	case err != nil:
		return "", fmt.Errorf("prepare a task for forgotten files: %w", err)
	case len(problems) > 0:
		return "", request.Refusedf("a task for %s: %s", text.Some(f.Tasks[0].Files, maxNamed),
			(&spec.PlanError{Problems: problems}).Error())
	}
	actions, again := request.Complete(&with, f, data, q.By)
	if len(q.Notices) > 0 {
		changed := run.SetRun(run.Data{Roles: q.Roles, Project: q.Project, Notices: q.Notices})
		actions = append([]run.Action{changed}, actions...)
	}
	done := make([]string, 0, len(data.Tasks)+1)
	for i := range data.Tasks {
		t := &data.Tasks[i]
		done = append(done, fmt.Sprintf("new: %s for %s, tested with what %s handed in", t.ID, text.Some(t.Files, maxNamed),
			text.Some(f.Waiting(t.ChangeSet), maxNamed)))
	}
	if len(again) > 0 {
		done = append(done, "tried again: "+text.Some(again, maxNamed))
	}
	return strings.Join(done, "; "), c.atOnce(ctx, actions)
}

// atOnce appends what actions append as one message, then executes the others.
func (c *Conductor) atOnce(ctx context.Context, actions []run.Action) error {
	var events []contextscope.Event
	var others []run.Action
	for _, action := range actions {
		a, ok := action.(run.Append)
		if !ok {
			others = append(others, action)
			continue
		}
		e, err := eventOf(a)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	if len(events) > 0 {
		if err := c.commit(ctx, events...); err != nil {
			return err
		}
	}
	return c.execute(ctx, others)
}
