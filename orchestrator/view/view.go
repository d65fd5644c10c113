package view

import (
	"divisi/orchestrator/run"
)

// State is that of a run, from which the functions of this package make the displays.
type State = run.State

// NewState is the state of a run before its first event.
var NewState = run.NewState

// AtRest reports whether nothing continues a run: it has ended, or was stopped. Over reports that it has ended for good.
func AtRest(s *State) bool { return s.Status.Ended() }

// Over reports whether a run has ended. One that was stopped can continue.
func Over(s *State) bool { return s.Status.Ended() && s.Status != run.Stopped }

// Status is the run's status for people: a run that waits for a person is waiting, one that waits for its machine is paused,
// whatever its phase.
func Status(s *run.State) string {
	switch {
	case s.Wait.For != "":
		return "waiting"
	case s.Halted():
		return "paused"
	default:
		return string(s.Status)
	}
}

type (
	// Plan is one as it is in the log.
	Plan = run.PlanData
	// Preview is one as a dry run expands it.
	Preview = run.Preview
	// Overlap is two tasks of one that write the same path.
	Overlap = run.Overlap
)
