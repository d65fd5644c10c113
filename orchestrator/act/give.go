package act

import (
	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Give hands in what a person has changed in a directory that was taken, as the next attempt of its task.
type Give struct {
	Task string `json:"task" jsonschema:"The id of the task."`
	Dir  string `json:"dir,omitempty" jsonschema:"The directory into which the attempt was taken."`
	// Patch is the change made there.
	Patch *spec.Patch `json:"-"`
}

// Act implements Args.
func (Give) Act() string { return "give" }

func (g *Give) with() any { return &g.Patch }

var _ = define(Entry{
	Help: "Submit the edits in a taken directory as the next attempt of its task.",
	Who:  Local, On: Running | AtRest | Ended, Doors: Command,
}, func(s *run.State, a Give, by string) ([]run.Action, string, error) {
	if a.Patch == nil {
		return nil, "", request.Refusedf("the request has no patch")
	}
	return request.Give(&s.Agenda, &s.Agents, a.Task, a.Patch, by)
})
