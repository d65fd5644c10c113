package contextscope

import (
	"fmt"

	"divisi/internal/spec"

	"google.golang.org/genai"
)

// ready makes the transcript again where it is stale.
func (t *transcript) ready() {
	if t.stale {
		t.rebuild()
	}
}

// rebuild makes the transcript from the events that count: what stands before the verbatim part, all turns but the newest as
// they are for good, and the newest as one that goes on.
func (t *transcript) rebuild() {
	t.reset()
	pair := t.pairing()
	items := t.items(pair)
	whole := pair.settle(pair.history(items))
	newest := -1
	for i, it := range whole {
		if t.isTurn(it) {
			newest = i
		}
	}
	for i, it := range whole[:max(0, newest)] {
		t.put(it)
		if t.isTurn(it) {
			t.mark(it)
			t.answered(&t.marks[len(t.marks)-1], whole[i+1:])
		}
	}
	t.stale = false
	if newest >= 0 {
		t.turn(whole[newest], t.pairing())
	}
	if t.open != nil {
		t.reopen(items, pair)
		return
	}
	for _, it := range whole[newest+1:] {
		t.put(it)
	}
	t.notes = append(t.notes[:0], pair.sorted()...)
}

func (t *transcript) reset() {
	t.draft = t.from(t.base)
	t.ids, t.notes, t.marks, t.open = t.ids[:0], t.notes[:0], t.marks[:0], nil
	t.made, t.seen = map[*genai.Part]Origin{}, map[callKey]bool{}
	for _, s := range t.sweep {
		s.reset()
	}
}

func (t *transcript) isTurn(it item) bool { return it.src >= 0 && t.events[it.src].Kind == KindTurn }

// reopen gives the open turn what has followed it, and tells the notes on it that come of putting it together, which are made
// anew each time, from all others.
func (t *transcript) reopen(items []item, pair *pairing) {
	o := t.open
	for _, it := range items {
		if it.src > o.call.src && !t.isTurn(it) {
			o.since = append(o.since, it)
		}
	}
	before, after := pair.split(o.call.src)
	o.own = after.minus(t.settle())
	t.notes = append(t.notes[:0], before.sorted()...)
	o.notes = len(t.notes)
	t.settle()
}

// items are the events that count as items, every result with a call before it. What stands before them is added.
func (t *transcript) items(pair *pairing) []item {
	var items []item
	for src := t.floor; src < len(t.events); src++ {
		if it := t.headless(t.item(src, pair)); it.content != nil {
			items = append(items, t.masked(it))
		}
	}
	items = pair.withoutOrphans(items, t.seen)
	if t.in.Include == spec.IncludeNone {
		if start := currentTurn(items, t.events); start >= 0 {
			pair.note(-1, fmt.Sprintf("%d events before event %s were left out: include_contents is none",
				start, t.label(items[start].src)))
			return pair.withoutOrphans(items[start:], map[callKey]bool{})
		}
	}
	t.front(pair)
	return items
}

// masked shows the large results of an item as handles where a compaction says so.
func (t *transcript) masked(it item) item {
	if t.horizon.masked[it.src] {
		it.content, _ = maskContent(it.content, func(p *genai.Part) (*genai.Part, bool) {
			m, done := maskLarge(p, t.events[it.src].Seq)
			if done {
				t.made[m] = Origin{Processor: compactionStep, Event: t.label(it.src)}
			}
			return m, done
		})
	}
	return it
}

// front adds what stands in place of the events before the floor, and the steering among them, which is never left out.
func (t *transcript) front(pair *pairing) {
	if front := t.horizon.front(t.events); front != nil {
		t.add(front)
		for _, p := range front.Parts {
			t.made[p] = Origin{Processor: compactionStep, Event: t.horizon.by}
		}
	}
	for _, src := range t.spared {
		if it := t.item(src, pair); it.content != nil && !hasResponses(it.content) {
			t.put(it)
		}
	}
}

// headless takes the results from an item that no turn precedes: what they answer was left out, and they with it.
func (t *transcript) headless(it item) item {
	if t.floor == 0 || !hasResponses(it.content) || t.turnsUpTo(it.src) > t.turnsUpTo(t.floor-1) {
		return it
	}
	it.content = keepParts(it.content, func(p *genai.Part) bool { return p.FunctionResponse == nil })
	return it
}

// currentTurn is where the current turn begins: at the newest message that starts one, or before it where a result belongs
// to an earlier call. The brief, steering and the runtime's own reminders never start one; it is -1 where nothing did: then
// the turn began with the brief.
func currentTurn(items []item, events []Event) int {
	return turnStart(items, callIDs(items),
		func(it item) bool { return events[it.src].Kind == KindUser },
		func(it item) bool { return hasResponses(it.content) })
}
