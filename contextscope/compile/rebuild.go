package compile

import (
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"
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
	whole := pair.Settle(pair.History(items))
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
	t.notes = append(t.notes[:0], pair.Sorted()...)
}

func (t *transcript) reset() {
	t.draft = t.from(t.base)
	t.ids, t.notes, t.marks, t.open = t.ids[:0], t.notes[:0], t.marks[:0], nil
	t.made, t.seen = map[*genai.Part]Origin{}, map[content.Key]bool{}
	for _, s := range t.sweep {
		s.reset()
	}
}

func (t *transcript) isTurn(it pairing.Item) bool {
	return it.Src >= 0 && t.events[it.Src].Kind == contextscope.KindTurn
}

// reopen gives the open turn what has followed it, and tells the notes on it that come of putting it together, which are made
// anew each time, from all others.
func (t *transcript) reopen(items []pairing.Item, pair *pairing.Pairing) {
	o := t.open
	for _, it := range items {
		if it.Src > o.call.Src && !t.isTurn(it) {
			o.since = append(o.since, it)
		}
	}
	before, after := pair.Split(o.call.Src)
	o.own = after.Minus(t.settle())
	t.notes = append(t.notes[:0], before.Sorted()...)
	o.notes = len(t.notes)
	t.settle()
}

// items are the events that count as items, every result with a call before it. What stands before them is added.
func (t *transcript) items(pair *pairing.Pairing) []pairing.Item {
	var items []pairing.Item
	for src := t.floor; src < len(t.events); src++ {
		if it := t.headless(t.item(src, pair)); it.Content != nil {
			items = append(items, t.masked(it))
		}
	}
	items = pair.WithoutOrphans(items, t.seen)
	if t.in.Include == spec.IncludeNone {
		if start := currentTurn(items, t.events); start >= 0 {
			pair.Note(-1, fmt.Sprintf("%d events before event %s were left out: include_contents is none",
				start, t.label(items[start].Src)))
			return pair.WithoutOrphans(items[start:], map[content.Key]bool{})
		}
	}
	t.front(pair)
	return items
}

// masked shows the large results of an item as handles where a compaction says so.
func (t *transcript) masked(it pairing.Item) pairing.Item {
	if t.horizon.masked[it.Src] {
		it.Content, _ = compaction.MaskContent(it.Content, func(p *genai.Part) (*genai.Part, bool) {
			m, done := compaction.MaskLarge(p, t.events[it.Src].Seq)
			if done {
				t.made[m] = Origin{Processor: compactionStep, Event: t.label(it.Src)}
			}
			return m, done
		})
	}
	return it
}

// front adds what stands in place of the events before the floor, and the steering among them, which is never left out.
func (t *transcript) front(pair *pairing.Pairing) {
	if front := t.horizon.front(t.events); front != nil {
		t.add(front)
		for _, p := range front.Parts {
			t.made[p] = Origin{Processor: compactionStep, Event: t.horizon.by}
		}
	}
	for _, src := range t.spared {
		if it := t.item(src, pair); it.Content != nil && !content.HasResponses(it.Content) {
			t.put(it)
		}
	}
}

// headless takes the results from an item that no turn precedes: what they answer was left out, and they with it.
func (t *transcript) headless(it pairing.Item) pairing.Item {
	if t.floor == 0 || !content.HasResponses(it.Content) || t.turnsUpTo(it.Src) > t.turnsUpTo(t.floor-1) {
		return it
	}
	it.Content = content.Keep(it.Content, func(p *genai.Part) bool { return p.FunctionResponse == nil })
	return it
}

// currentTurn is where the current turn begins: at the newest message that starts one, or before it where a result belongs
// to an earlier call. The brief, steering and the runtime's own reminders never start one; it is -1 where nothing did: then
// the turn began with the brief.
func currentTurn(items []pairing.Item, events []contextscope.Event) int {
	return pairing.TurnStart(items, pairing.CallIDs(items),
		func(it pairing.Item) bool { return events[it.Src].Kind == contextscope.KindUser },
		func(it pairing.Item) bool { return content.HasResponses(it.Content) })
}
