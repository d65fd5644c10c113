package act

import (
	"cmp"

	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// StopLine lets nothing be dispatched and nothing land until StartLine. The process goes on, and so does what is at work.
type StopLine struct {
	Reason string `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
}

// Act implements Args.
func (StopLine) Act() string { return "stop_line" }

var _ = define(Entry{
	Label: "Stop the line", Called: "line stop",
	Warn: "Nothing lands until the line starts again. Work goes on.",
	Fits: func(s *run.State, _ *run.Task) bool { return s.Line == "" && !s.Status.Ended() },
	Help: "Stop dispatch and landing.",
	Who:  Local | Owner, On: Running | AtRest, Undo: "start_line", Doors: Command | API | Page,
}, func(s *run.State, a StopLine, _ string) ([]run.Action, string, error) {
	if s.Line != "" {
		return nil, "", request.Refusedf("the line of run %s is stopped already: %s", s.Spec.Run, s.Line)
	}
	reason := cmp.Or(text.Head(text.OneLine(a.Reason), maxLineReason), "by a person")
	return []run.Action{run.SetRun(run.Data{Line: &reason})},
		"the line is stopped: nothing is dispatched, and nothing lands; active work continues", nil
})

// maxLineReason bounds, in bytes, why a line is stopped.
const maxLineReason = 200
