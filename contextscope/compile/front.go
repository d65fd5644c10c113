package compile

import (
	"fmt"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
)

// front adds what replaces the events before the floor, and the steering among them, which is never left out.
func (t *transcript) front() {
	if front := t.replacement(); front != nil {
		t.add(front)
		from := Origin{Processor: compactionStep}
		if t.horizon.Snapshot != "" {
			from.Event = t.label(t.horizon.By)
		}
		for _, p := range front.Parts {
			t.made[p] = from
		}
	}
	for src := range t.events[:t.floor] {
		if it, ok := steered(t.events, src); ok {
			t.put(it)
		}
	}
}

// replacement is the snapshot, and a line for what was pruned since; nil when there is neither.
func (t *transcript) replacement() *genai.Content {
	h := &t.horizon
	var parts []*genai.Part
	if h.Snapshot != "" {
		parts = append(parts, &genai.Part{Text: snapshotText + "\n" + narrative.Elide(h.Snapshot)})
	}
	first, last, n := left(t.events, h.Covered, h.Floor)
	if n > 0 {
		parts = append(parts, &genai.Part{Text: leftOutText(n, first, last)})
	}
	if parts == nil {
		return nil
	}
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

// left counts the events between two places that go with the history, with the numbers of the first and the last.
func left(events []contextscope.Event, from, to int) (first, last, n int) {
	for src := from; src < to; src++ {
		if leavable(events[src].Kind) {
			if n++; n == 1 {
				first = events[src].Seq
			}
			last = events[src].Seq
		}
	}
	return first, last, n
}

// leavable reports whether events of the kind are part of the history and go with it: steering never goes.
func leavable(k contextscope.Kind) bool {
	return k == contextscope.KindTurn || k == contextscope.KindTool || k == contextscope.KindUser || k == contextscope.KindControl
}

// compactionStep names in traces what compactions wrote.
const compactionStep = "compaction"

// snapshotText introduces a snapshot.
const snapshotText = "Your own earlier work on this task, as a snapshot that was made by summarising it. " +
	`The events themselves can still be read: load_artifact "event:N" shows the one with number N.`

// leftOutText reports what a prune left out.
func leftOutText(n, first, last int) string {
	return fmt.Sprintf("[%d events of your earlier work are left out here, with numbers from %d to %d; "+
		"load_artifact \"event:N\" shows the one with number N]", n, first, last)
}

// compactionTrace reports what the compactions did; false when there are none.
func (t *transcript) compactionTrace() (contextscope.Trace, bool) {
	h := &t.horizon
	line := contextscope.Trace{Processor: compactionStep}
	for src := range t.events[:h.Floor] {
		if leavable(t.events[src].Kind) {
			line.Events = append(line.Events, t.label(src))
		}
	}
	for _, f := range h.Failed {
		line.Notes = append(line.Notes, fmt.Sprintf("event %s: %s", t.label(f.Place), f.Why))
	}
	switch n := len(line.Events); {
	case n == 0 && len(h.Masked) == 0:
		line.What = "nothing is left out"
	case n == 0:
		line.What = fmt.Sprintf("large results of %d events are shown as handles", len(h.Masked))
	default:
		line.What = fmt.Sprintf("%d events left out; load_artifact event:N shows the one with number N", n)
		if h.Snapshot != "" {
			size := content.TokensOf(len(h.Snapshot))
			line.What = fmt.Sprintf("snapshot of event %s, about %d tokens of the history; ", t.label(h.By), size) + line.What
		}
	}
	return line, h.Found
}
