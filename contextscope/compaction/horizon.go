package compaction

import (
	"encoding/json"
	"fmt"

	"divisi/contextscope"
)

// Horizon is the combined effect of the compactions of a session: which of its events a request still shows, and which text
// replaces the others. Requests, slices and the plan of the next compaction all read this one model.
type Horizon struct {
	// Floor is the place of the first event that is shown. Of several compactions the greatest range decides.
	Floor int
	// Snapshot is the newest snapshot, By the place of its event, Covered the place up to which it speaks. They differ from Floor
	// after a prune without a snapshot.
	Snapshot    string
	By, Covered int
	// Written is the newest snapshot that a model wrote, Read the place up to which that model has read.
	Written string
	Read    int
	// Masked are the places of tool events whose large results are shown as handles.
	Masked map[int]bool
	// Found reports whether there is any compaction event; Failed are those that change nothing.
	Found  bool
	Failed []Failure
}

// Failure is a compaction event that changes nothing, and why.
type Failure struct {
	Place int
	Why   string
}

// HorizonOf reads the compactions of a session. One that cannot be read changes nothing.
func HorizonOf(events []contextscope.Event) Horizon {
	h := Horizon{Masked: map[int]bool{}}
	for i := range events {
		if events[i].Kind == contextscope.KindCompaction {
			h.fold(events[:i+1])
		}
	}
	return h
}

// fold adds the last of the events, a compaction.
func (h *Horizon) fold(events []contextscope.Event) {
	by := len(events) - 1
	h.Found = true
	var c contextscope.Compaction
	switch err := json.Unmarshal(events[by].Data, &c); {
	case err != nil:
		h.Failed = append(h.Failed, Failure{by, "this compaction cannot be read and changes nothing"})
		return
	case !c.Effective():
		h.Failed = append(h.Failed, Failure{by, fmt.Sprintf("a compaction came to nothing (%s)", c.Method)})
		return
	}
	to := placeAfter(events[:by], c.To)
	h.Floor = max(h.Floor, to)
	if c.Snapshot != "" {
		h.Snapshot, h.By, h.Covered = c.Snapshot, by, to
	}
	if c.Method == contextscope.MethodSnapshot {
		h.Written, h.Read = c.Snapshot, to
	}
	for _, seq := range c.Masked {
		if place := placeAfter(events[:by], seq) - 1; place >= h.Floor && events[place].Seq == seq {
			h.Masked[place] = true
		}
	}
}

// placeAfter is the place after the last event with a number up to seq.
func placeAfter(events []contextscope.Event, seq int) int {
	for i := len(events); i > 0; i-- {
		if events[i-1].Seq <= seq {
			return i
		}
	}
	return 0
}
