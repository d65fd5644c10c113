package client

import (
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// A Decision is what must be decided before some of the work goes on: a plan, a question of an agent, a held patch or template. An
// Option is a way to answer, a Choice the answer, a Patch what the newest attempt of a task has changed. Decisions are several, whose
// JSON has the names of the fields.
type (
	Decision  = view.Decision
	Option    = view.Option
	Choice    = act.Decide
	Patch     = view.Patch
	Decisions = view.Named
)
