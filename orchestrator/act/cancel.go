package act

import (
	"cmp"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Cancel ends a run, or one task of it, for good.
type Cancel struct {
	Task   string `json:"task,omitempty" jsonschema:"The id of one task; left out, the whole run is meant."`
	Reason string `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
}

// Act implements Args.
func (Cancel) Act() string { return "cancel" }

var _ = define(Entry{
	Key:  "c",
	Help: "End a run, or one task of it, for good.",
	Warn: "Agents and gates stop, and the run cannot be resumed. What has landed stays.",
	WarnTask: "The agent and the gates of the task stop, and what depends on the task does not begin. The run goes on; " +
		"Retry opens the task again.",
	Fits: func(_ *run.State, t *run.Task) bool { return t == nil || !t.Ended() },
	Who:  Local | Owner, On: Running | AtRest, Undo: "retry", Until: "the run ends; a run stays cancelled", Loses: true,
}, func(s *run.State, a Cancel, by string) ([]run.Action, string, error) {
	reason := cmp.Or(a.Reason, "cancelled by a person")
	if a.Task != "" {
		actions, err := request.Cancel(&s.Agenda, s.Works, a.Task, reason, by)
		return actions, a.Task + " is cancelled", err
	}
	d := run.Data{State: run.Cancelled, Reason: reason}
	if wire.ByProgram(by) { // the log names it in the place of a person
		d.Notices = []string{"cancelled by " + by}
	}
	return []run.Action{run.SetRun(d), run.Purge{}}, "the run is cancelled", nil
})
