package run

import (
	"cmp"
	"maps"

	"divisi/internal/spec"
)

// Revision changes a task that has not landed. It begins again with it, and what failed before does not count.
type Revision struct {
	// ID is that of the request where an agent made it.
	ID string `json:"id,omitempty"`
	// By is the identity of a person or an attempt of the master.
	By string `json:"by"`
	// Brief, Role and Model replace those of the task where they are set; Files and what is below it where it is not nil.
	// Words end its brief.
	Brief       string    `json:"brief,omitempty"`
	Comment     string    `json:"words,omitempty"`
	Role        string    `json:"role,omitempty"`
	Model       string    `json:"model,omitempty"`
	Files       *[]string `json:"files,omitempty"`
	Unlocked    []string  `json:"unlocked,omitempty"`
	Constraints *[]string `json:"constraints,omitempty"`
	Command     *[]string `json:"command,omitempty"`
	DependsOn   *[]string `json:"depends_on,omitempty"`
	Inputs      *[]string `json:"inputs,omitempty"`
	Creates     *[]string `json:"creates,omitempty"`
	Remaining   *string   `json:"remaining,omitempty"`
}

// Order is a task with what the revision has it wait for.
func (r *Revision) Order(t spec.Task) spec.Task {
	if r.DependsOn != nil {
		t.DependsOn = *r.DependsOn
	}
	if r.Inputs != nil {
		t.Inputs = *r.Inputs
	}
	return t
}

// Revise returns a brief after a revision.
func (r *Revision) Revise(had string) string {
	if had = cmp.Or(r.Brief, had); r.Comment != "" {
		had += "\n\n" + r.Comment
	}
	return had
}

// Changes reports whether a revision has more than that its task begins again.
func (r *Revision) Changes() bool {
	return r.Brief+r.Comment+r.Role+r.Model != "" || r.Files != nil || r.Constraints != nil || r.Command != nil ||
		r.DependsOn != nil || r.Inputs != nil || r.Creates != nil || r.Remaining != nil
}

// Recent are the failures of a task since it was revised, oldest first.
func (t *Task) Recent() []AttemptFault { return t.Faults[t.Fresh:] }

// revise folds that a task begins again, after it was set to pending.
func (t *Task) revise(r *Revision, order *Spec) {
	t.Revisions, t.Revised = append(t.Revisions, *r), t.Attempt
	t.Task.Brief, t.Model = r.Revise(t.Task.Brief), cmp.Or(r.Model, t.Model)
	if r.Role != "" && r.Role != t.Task.Role {
		t.become(r.Role, order)
	}
	if r.Files != nil {
		t.Task.Files, t.Task.Unlocked, t.Named = *r.Files, r.Unlocked, *r.Files
	}
	if r.Constraints != nil {
		t.Task.Constraints = *r.Constraints
	}
	if r.Command != nil {
		if t.Task.Command = *r.Command; len(*r.Command) == 0 {
			t.Task.Command = order.Roles[t.Task.Role].Command
		}
	}
	if r.Creates != nil {
		t.Task.Creates = *r.Creates
	}
	if r.Remaining != nil {
		t.Task.Remaining = *r.Remaining
	}
	t.Task = r.Order(t.Task)
	t.After = t.Task.Dependencies()
	t.Fresh, t.Choice, t.Next, t.Waited = len(t.Faults), Choice{}, Choice{}, false
}

// become gives a task another role. Limits and command are those of the role that it has now, where that names some.
func (t *Task) become(name string, order *Spec) {
	role := order.Roles[name]
	t.Task.Role, t.Task.Command, t.Task.Limits = name, role.Command, role.Limits.Or(t.Task.Limits)
}

// reread folds that the files of roles and of the project have changed. Tasks have the command and the limits of their roles.
func (s *Spec) reread(d Data, tasks *Tasks) {
	if d.Project != nil {
		s.Project = *d.Project
	}
	if d.File != nil {
		s.Plan = d.File
	}
	if len(d.Roles) == 0 {
		return
	}
	for _, t := range tasks.ByID {
		if role, changed := d.Roles[t.Task.Role]; changed {
			t.Task = t.Task.Renewed(s.Roles[t.Task.Role], role)
		}
	}
	s.Roles = maps.Clone(s.Roles)
	maps.Copy(s.Roles, d.Roles)
}
