package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"divisi/internal/spec"
)

// Search is the state of the search among the tasks of a failed batch.
type Search struct {
	// Named are those that a failure leads to, and to no other one.
	Named []string `json:"named,omitempty"`
	// Out are the tasks of a part that fails if the one before it does not. Right are taken for right: a failure leads elsewhere,
	// or a batch failed without them.
	Out   []string `json:"out,omitempty"`
	Right []string `json:"right,omitempty"`
	// Odds are how likely each task is the wrong one, where that was weighed; they sum up to 1.
	Odds map[string]float64 `json:"odds,omitempty"`
}

// LandingOf reads the data of a landing event. A batch under test without a dispatch is refused: no conductor writes one.
func LandingOf(data json.RawMessage) (d LandingData, err error) {
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("decode its data: %w", err)
	}
	if d.State == LandingTesting && d.Dispatch == nil {
		return d, errors.New("a batch under test has no dispatch")
	}
	return d, nil
}

// Landed is one task's commit on the integration branch. Commit is empty for a task of a change set that changed nothing.
type Landed struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Commit  string `json:"commit,omitempty"`
	Added   int    `json:"added,omitempty"`
	Deleted int    `json:"deleted,omitempty"`
	Files   int    `json:"files,omitempty"`
	// Better lists the remaining failures of the gates that it mends; empty where they are green.
	Better string `json:"better,omitempty"`
	// Unverified is why it is not proven; empty when it is.
	Unverified string `json:"unverified,omitempty"`
	// Unread are the files of it that no gate has read as their kind needs, as the receipts tell with which it landed.
	Unread []spec.Unread `json:"-"`
}
