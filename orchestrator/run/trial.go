package run

import (
	"time"

	"divisi/internal/spec"
)

// Trial is the experiment with the tests that a patch changes. The patch is held for a doubt unless they still notice what they
// did before.
type Trial struct {
	Doubt Doubt `json:"doubt"`
	// Files are those that the doubt is about, Run is that of the work <task>--red; 0 where it has not begun.
	Files []string `json:"files"`
	Run   int      `json:"run,omitempty"`
	// Fewer reports that tests assert less by the rules: that they notice nothing then releases nothing.
	Fewer bool `json:"fewer,omitempty"`
}

// All experiments of a run may take one part in trialShare of the time that its gates have taken so far, and leastTrials at any
// rate.
const (
	trialShare  = 4
	leastTrials = 2 * time.Minute
)

// TrialTime is how long experiments may still take; none where it is not above 0.
func (s *State) TrialTime() time.Duration {
	var gates, trials time.Duration
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Result == nil {
				continue
			}
			for _, r := range a.Result.Receipts {
				if r.Gate == spec.WeakerGate {
					trials += r.Duration
				} else {
					gates += r.Duration
				}
			}
		}
	}
	return max(gates/trialShare, leastTrials) - trials
}
