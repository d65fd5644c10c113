package compile

import (
	"encoding/json"
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"

	"google.golang.org/genai"
)

// horizon is what the compactions of a session come to: where the verbatim part begins, and what stands before it. It is
// folded from the events and only ever moves forward.
type horizon struct {
	// floor is the place of the first event that is not left out; covered the place up to which the snapshot speaks.
	floor   int
	covered int
	// snapshot is the newest one, with the event that brought it.
	snapshot string
	by       string
	// masked are the places of tool events whose large results are shown as handles.
	masked map[int]bool
	// left are the ids of the events that are left out, pruned the places of those that no snapshot speaks of.
	left   []string
	pruned []int
	notes  []string
	seen   bool
}

// fold takes a compaction event in. It reports whether requests change.
func (h *horizon) fold(events []contextscope.Event, src int, label func(int) string) bool {
	h.seen = true
	var c compaction.Record
	if err := json.Unmarshal(events[src].Data, &c); err != nil {
		h.notes = append(h.notes, fmt.Sprintf("event %s: this compaction cannot be read and changes nothing", label(src)))
		return false
	}
	if !c.Effective() {
		h.notes = append(h.notes, fmt.Sprintf("event %s: a compaction came to nothing (%s)", label(src), c.Method))
		return false
	}
	to := placeAfter(events[:src], c.To)
	if c.Snapshot != "" {
		h.snapshot, h.by, h.covered = c.Snapshot, label(src), to
	}
	h.advance(events, to, label)
	for _, seq := range c.Masked {
		if place := placeAfter(events[:src], seq) - 1; place >= h.floor && events[place].Seq == seq {
			if h.masked == nil {
				h.masked = map[int]bool{}
			}
			h.masked[place] = true
		}
	}
	return true
}

// advance moves the floor forward and names what is left out by it.
func (h *horizon) advance(events []contextscope.Event, to int, label func(int) string) {
	for ; h.floor < to; h.floor++ {
		if leavable(events[h.floor].Kind) {
			h.left = append(h.left, label(h.floor))
			h.pruned = append(h.pruned, h.floor)
		}
	}
	for len(h.pruned) > 0 && h.pruned[0] < h.covered {
		h.pruned = h.pruned[1:]
	}
}

// leavable says whether events of the kind are part of the history and go with it: steering never does.
func leavable(k contextscope.Kind) bool {
	return k == contextscope.KindTurn || k == contextscope.KindTool || k == contextscope.KindUser || k == contextscope.KindControl
}

// placeAfter is the place after the last event with a number up to seq. Walking back, it does what is meant also where the
// numbers of an earlier session come before.
func placeAfter(events []contextscope.Event, seq int) int {
	for i := len(events); i > 0; i-- {
		if events[i-1].Seq <= seq {
			return i
		}
	}
	return 0
}

// front is what stands before the verbatim part; nil when there is nothing to say.
func (h *horizon) front(events []contextscope.Event) *genai.Content {
	var parts []*genai.Part
	if h.snapshot != "" {
		parts = append(parts, &genai.Part{Text: snapshotText + "\n" + narrative.Elide(h.snapshot)})
	}
	if n := len(h.pruned); n > 0 {
		parts = append(parts, &genai.Part{Text: leftOutText(n, events[h.pruned[0]].Seq, events[h.pruned[n-1]].Seq)})
	}
	if parts == nil {
		return nil
	}
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

// compactionStep names in traces what compactions wrote.
const compactionStep = "compaction"

// snapshotText introduces a snapshot.
const snapshotText = "Your own earlier work on this task, as a snapshot that was made by summarising it. " +
	`The events themselves can still be read: load_artifact "event:N" shows the one with number N.`

// leftOutText says what a prune left out.
func leftOutText(n, first, last int) string {
	return fmt.Sprintf("[%d events of your earlier work are left out here, with numbers from %d to %d; "+
		"load_artifact \"event:N\" shows the one with number N]", n, first, last)
}

// trace says what the compactions did; false when there are none.
func (h *horizon) trace() (contextscope.Trace, bool) {
	t := contextscope.Trace{Processor: compactionStep, Events: h.left[:len(h.left):len(h.left)], Notes: h.notes}
	switch {
	case !h.seen:
		return t, false
	case len(h.left) == 0 && len(h.masked) == 0:
		t.What = "nothing is left out"
	case len(h.left) == 0:
		t.What = fmt.Sprintf("large results of %d events are shown as handles", len(h.masked))
	default:
		t.What = fmt.Sprintf("%d events left out; load_artifact event:N shows the one with number N", len(h.left))
		if h.snapshot != "" {
			size := content.TokensOf(len(h.snapshot))
			t.What = fmt.Sprintf("snapshot of event %s, about %d tokens of the history; ", h.by, size) + t.What
		}
	}
	return t, true
}
