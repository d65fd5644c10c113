package act

import (
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Pause stops a run once its agents have finished their turns.
type Pause struct{}

// Act implements Args.
func (Pause) Act() string { return "pause" }

var _ = define(Entry{
	Key: "p",
	Next: func(s *run.State, _ *run.Task) string {
		if s.Line+s.Wait.For != "" {
			return ""
		}
		return "stop it after the current turns"
	},
	Help: "Stop a run once its agents have finished their turns; resume continues it.",
	Who:  Local | Owner, On: Running, Undo: "resume",
}, func(s *run.State, _ Pause, by string) ([]run.Action, string, error) {
	return []run.Action{run.Pause{By: by}}, "pausing after the current turn of " + text.Count(len(s.Busy()), "active agent"), nil
})
