package act

import (
	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Drop takes out what tasks have landed, each with its whole change set where it is of one.
type Drop struct {
	Tasks  []string `json:"tasks" jsonschema:"The ids of the tasks."`
	Reason string   `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
	// Patch undoes the one task that a request to a conductor names.
	Patch *spec.Patch `json:"-"`
}

// Act implements Args.
func (Drop) Act() string { return "drop" }

func (d *Drop) with() any { return &d.Patch }

var _ = define(Entry{
	Insists: []string{"reason"},
	Warn:    "A task reverts the change, and is tested like any other.",
	Fits:    func(_ *run.State, t *run.Task) bool { return t.State == run.TaskLanded },
	Help:    "Remove the landed changes of tasks from the branch of the run.",
	Who:     Local | Owner, On: Running | AtRest | Ended, Undo: "skip", Until: "the task that takes them out has landed",
	Loses: true,
}, func(s *run.State, a Drop, by string) ([]run.Action, string, error) {
	if len(a.Tasks) != 1 {
		return nil, "", request.Refusedf("a patch undoes one task, not %d", len(a.Tasks))
	}
	return request.Drop(&s.Agenda, &s.Batches, a.Tasks[0], a.Patch, a.Reason, by)
})
