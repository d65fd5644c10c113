package orchestrator

import (
	"divisi/orchestrator/view"
)

// A Decision is what must be decided before some of the work goes on: a plan, a question of an agent, a held patch or template. An
// Option is a way to answer, a Patch what the newest attempt of a task has changed. Decisions are several, whose JSON has the names
// of the fields.
type (
	Decision  = view.Decision
	Option    = view.Option
	Patch     = view.Patch
	Decisions = view.Named
)

// Choice is the answer to a decision: the name of an option and the text that it needs. Without an option it stays open.
type Choice struct {
	Option, Text string
	Task         string // whose patch is meant, where the decision is about several
	Alike        bool   // it also accepts each other patch of the run that is alike, held now or later
}
