package act

import (
	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Gate adds a gate to a run that has not ended: it runs on the base commit, then on all that lands.
type Gate struct {
	Name    string   `json:"name" jsonschema:"Name of the gate, unique."`
	Command []string `json:"command" jsonschema:"Program and arguments; no shell line."`
}

// Act implements Args.
func (Gate) Act() string { return "gate" }

var _ = define(Entry{
	Help: "Add a gate to a run that has not ended.",
	Who:  Local | Owner, On: Running | AtRest, Doors: Command,
}, func(s *run.State, a Gate, by string) ([]run.Action, string, error) {
	return request.Gate(&s.Agenda, &s.Proofs, spec.Gate{Name: a.Name, Command: a.Command}, by)
})
