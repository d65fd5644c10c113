package act

import (
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// StartLine lets work be dispatched and land again.
type StartLine struct{}

// Act implements Args.
func (StartLine) Act() string { return "start_line" }

var _ = define(Entry{
	Help: "Resume dispatch and landing.",
	Who:  Local | Owner, On: Running | AtRest, Undo: "stop_line", Doors: Command | Page,
}, func(s *run.State, _ StartLine, _ string) ([]run.Action, string, error) {
	if s.Line == "" {
		return nil, "", request.Refusedf("the line of run %s is not stopped", s.Spec.Run)
	}
	return []run.Action{run.SetRun(run.Data{Line: new("")})}, "the line goes on", nil
})
