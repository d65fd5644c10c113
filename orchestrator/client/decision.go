package client

import (
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

type (
	// Decision is what must be decided before some of the work goes on: a plan, a question of an agent, a held patch or template.
	Decision = view.Decision
	// Option is a way to answer it.
	Option = view.Option
	// Choice is the answer.
	Choice = act.Decide
	// Patch is what the newest attempt of a task has changed.
	Patch = view.Patch
	// Decisions are several, whose JSON has the names of the fields.
	Decisions = view.Named
)
