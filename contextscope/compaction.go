package contextscope

import (
	"encoding/json"

	"divisi/internal/spec"
)

// The methods by which a compaction stands for a range of events.
const (
	// MethodSnapshot replaces the range by a model's snapshot.
	MethodSnapshot = "snapshot"
	// MethodPrune replaces the range by a list of handles, or large results by theirs, without a model.
	MethodPrune = "prune"
	// MethodFailed notes an attempt that came to nothing; it changes no request.
	MethodFailed = "failed"
)

// The triggers of a compaction.
const (
	// TriggerShare is the history's share of the window.
	TriggerShare = "share"
	// TriggerTurns is the number of turns since the one before.
	TriggerTurns = "turns"
	// TriggerLimit is the share of the window beyond which no request is sent.
	TriggerLimit = "limit"
	// TriggerTooLong is a server that refused a request as too long.
	TriggerTooLong = "too_long"
)

// Compaction is the data of a compaction event: what stands for a range of the session from then on. Raw events stay in the
// log. Of several the newest decides where the verbatim part begins (the greatest To), the newest with a snapshot what stands
// before it, and Masked adds up.
type Compaction struct {
	Method string `json:"method"`
	// Trigger is why: share, turns, limit or too_long.
	Trigger string `json:"trigger,omitempty"`
	// From and To are the sequence numbers of the first and the last event of the range, both inclusive. Turns counts the
	// model's turns in it. Every call in the range has its result in the range.
	From  int `json:"from"`
	To    int `json:"to"`
	Turns int `json:"turns,omitempty"`
	// Overlap counts the turns at the start of the range that the snapshot before covered too.
	Overlap int `json:"overlap,omitempty"`
	// Snapshot is the JSON of the snapshot, checked, with the pinned facts in it.
	Snapshot string `json:"snapshot,omitempty"`
	// Masked are the sequence numbers of tool events after To whose large results are shown as handles from now on.
	Masked []int `json:"masked,omitempty"`
	// Before and After are the size of the range and of what stands for it, in estimated tokens (bytes/4).
	Before int `json:"before,omitempty"`
	After  int `json:"after,omitempty"`
	// Kept says, for people, what the snapshot was made to hold: paths, red gates.
	Kept []string `json:"kept,omitempty"`
	// Repaired reports that the model's first snapshot was refused and its second taken.
	Repaired bool `json:"repaired,omitempty"`
	// Model is the model that wrote the snapshot.
	Model string `json:"model,omitempty"`
	// Fault is why a model's snapshot was not taken: of a failed compaction, or of the prune that took its place.
	Fault *spec.Fault `json:"fault,omitempty"`
}

// Effective reports whether the compaction changes requests: a failed one does not.
func (c *Compaction) Effective() bool {
	return c.Method == MethodSnapshot || c.Method == MethodPrune
}

// Attempted reports whether a model was asked: such a compaction was paid for, whatever came of it.
func (c *Compaction) Attempted() bool { return c.Method != MethodPrune || c.Fault != nil }

// CompactionOf returns the data of a compaction event. It is false for other events and for data that is none: a log that
// was damaged compacts less and breaks nothing.
func CompactionOf(e Event) (Compaction, bool) {
	var c Compaction
	if e.Kind != KindCompaction || json.Unmarshal(e.Data, &c) != nil {
		return Compaction{}, false
	}
	return c, true
}
