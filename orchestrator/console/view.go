package console

import (
	"cmp"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// view is the state of a run, and the run's id before the log names it. It passes over events that the fold cannot read, because
// a display must not end a run.
type view struct {
	*run.State

	run string
}

func newView() *view { return &view{State: run.NewState()} }

func (v *view) apply(e *contextscope.Event) {
	v.run = cmp.Or(v.run, e.Run)
	_ = v.Apply(e)
}
