package client

import (
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

type (
	// Decision must be answered before some of the work continues: a plan, a question of an agent, a held patch or template.
	Decision = view.Decision
	// Option is a way to answer it.
	Option = view.Option
	// Choice is the answer.
	Choice = act.Decide
	// Patch is the change of the newest attempt of a task.
	Patch = view.Patch
	// Decisions are several, whose JSON has the names of the fields.
	Decisions = view.Named
)
