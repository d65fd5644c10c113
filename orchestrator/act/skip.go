package act

import (
	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Skip gives tasks up as not needed: what waits for them goes on as if they were done.
type Skip struct {
	Tasks  []string `json:"tasks" jsonschema:"The ids of the tasks, or of a template for all its shards."`
	Reason string   `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
}

// Act implements Args.
func (Skip) Act() string { return "skip" }

var _ = define(Entry{
	Holds: true,
	Key:   "s",
	Fits:  func(_ *run.State, t *run.Task) bool { return !t.Ended() || t.State == run.TaskParked },
	Next: func(_ *run.State, t *run.Task) string {
		if t.Task.ByFindings() {
			return "leave the findings that it has not fixed"
		}
		return "do without it"
	},
	Help: "Skip tasks that are not needed; dependent tasks continue.",
	Who:  Local | Owner, On: Running | AtRest | Ended, Loses: true,
}, func(s *run.State, a Skip, by string) ([]run.Action, string, error) {
	actions, skipped, err := request.Skip(&s.Agenda, s.Works, a.Tasks, run.Revision{By: by}, decision.Because(a.Reason))
	return actions, "skipped: " + text.Some(skipped, maxNamed), err
})

// maxNamed bounds the tasks that an outcome names.
const maxNamed = 12
