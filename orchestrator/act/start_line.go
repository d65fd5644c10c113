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
	Label: "Start the line", Called: "line start",
	Fits: func(s *run.State, _ *run.Task) bool { return s.Line != "" },
	Next: func(*run.State, *run.Task) string { return "let it continue" },
	Help: "Resume dispatch and landing.",
	Who:  Local | Owner, On: Running | AtRest, Undo: "stop_line", Doors: Command | API | Page,
}, func(s *run.State, _ StartLine, _ string) ([]run.Action, string, error) {
	if s.Line == "" {
		return nil, "", request.Refusedf("the line of run %s is not stopped", s.Spec.Run)
	}
	return []run.Action{run.SetRun(run.Data{Line: new("")})}, "the line goes on", nil
})
