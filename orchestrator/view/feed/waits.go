package feed

import (
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// Wait is something from outside that the run, or some of it, waits for.
type Wait struct {
	Text string
	// Decision is the id of the decision that a person has to make, and Pos where in the log it began; empty for all other waits.
	Decision string
	Pos      uint64
}

// Waits lists what a run waits for at a time: for its machine, for a person, for a quota of a model. One that was stopped waits
// for a person alone.
func Waits(s *run.State, now time.Time) []Wait {
	var out []Wait
	ended := s.Status.Ended()
	if ended && s.Status != run.Stopped {
		return nil
	}
	if s.Halted() {
		out = append(out, Wait{Text: "the machine: " + strings.TrimPrefix(s.Reason, run.ReasonHalt)})
	}
	if s.Line != "" && !ended {
		out = append(out, Wait{Text: "the line to be started again: " + s.Line})
	}
	for _, d := range decision.ForPerson(s) {
		out = append(out, Wait{Text: text.Line(d.Text), Decision: d.ID, Pos: d.Pos})
	}
	if ended {
		return out
	}
	for _, q := range s.Quotas.UsedUp(now) {
		out = append(out, Wait{Text: strings.TrimPrefix(q.String(), "waiting for ")})
	}
	return out
}
