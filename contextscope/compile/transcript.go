package compile

import (
	"slices"
	"sort"
	"strconv"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// transcript is an agent's own events as contents: selected, compacted, calls paired with their results, and otherwise word
// for word. It grows with the log. An event that follows on what is there costs itself; one that reaches back (a late result,
// a compaction) makes the transcript stale, and the next look at it is a rebuild by the same pairing from the events that
// still count. Either way the same events give the same contents, notes and estimate.
type transcript struct {
	in *Input
	// base is what stands before the history, fixed the size in bytes of what stands outside the contents.
	base  draft
	fixed int

	events []contextscope.Event
	// turns are the places of the events that are turns.
	turns   []int
	horizon horizon
	// floor is the first event that counts, spared the places of the steering before it.
	floor  int
	spared []int
	looked int
	usage  calibration

	// stale says that what follows is to be made again.
	stale bool
	draft

	ids   []string
	notes []string
	// made says where parts come from that no event holds as they are.
	made  map[*genai.Part]Origin
	seen  map[content.Key]bool
	marks []turnMark
	sweep []*sweep
	// open is the newest turn while it is the one that results can belong to.
	open *openTurn
}

// openTurn is a turn with calls that no other turn has followed: its results are put together anew with each event.
type openTurn struct {
	call  pairing.Item
	keys  map[content.Key]bool
	since []pairing.Item
	// own are the notes on the turn and what followed that do not come of putting it together.
	own *pairing.Pairing
	// The rest is the transcript as it was with the turn and nothing after it.
	mark  draft
	ids   int
	notes int
}

func newTranscript(in *Input, base draft, fixed int) *transcript {
	t := &transcript{
		in: in, base: base, fixed: fixed, usage: calibration{ratio: firstRatio},
		sweep: sweeps(in.Role.Context.DropTools, in.Role.Context.DropAfter),
	}
	t.rebuild()
	return t
}

// label names an event for a trace: its id, or its place where it has none.
func (t *transcript) label(src int) string {
	if src >= 0 && src < len(t.events) && t.events[src].ID != "" {
		return t.events[src].ID
	}
	return strconv.Itoa(src)
}

func (t *transcript) pairing() *pairing.Pairing { return &pairing.Pairing{Label: t.label} }

// append takes events in.
func (t *transcript) append(events ...contextscope.Event) {
	for i := range events {
		if events[i].Kind == contextscope.KindTurn {
			t.ready()
			t.usage.bytes = t.size()
		}
		t.events = append(t.events, events[i])
		t.take(len(t.events) - 1)
	}
}

// take folds one event in.
func (t *transcript) take(src int) {
	switch t.events[src].Kind {
	case contextscope.KindCompaction:
		if t.horizon.fold(t.events, src, t.label) {
			t.stale = true
		}
		t.rise()
	case contextscope.KindUsage:
		t.usage.used(t.events, src, t.in.Window)
	case contextscope.KindTurn, contextscope.KindTool, contextscope.KindUser, contextscope.KindSteering, contextscope.KindControl:
		t.takeItem(src)
	default:
	}
}

func (t *transcript) takeItem(src int) {
	kind, notes := t.events[src].Kind, t.pairing()
	it := t.item(src, notes)
	if kind == contextscope.KindTurn && it.Content != nil {
		t.turns = append(t.turns, src)
		t.rise()
	}
	t.stale = t.stale || kind == contextscope.KindUser && t.in.Include == spec.IncludeNone
	if !t.stale {
		t.extend(it, notes)
	}
}

// item is ownItem; what was mended in the event is noted as its own.
func (t *transcript) item(src int, notes *pairing.Pairing) pairing.Item {
	e := &t.events[src]
	it := ownItem(e, src, notes)
	if it.Content == nil || it.Content == e.Content {
		return it
	}
	for _, p := range it.Content.Parts {
		if !slices.Contains(e.Content.Parts, p) {
			t.made[p] = Origin{Processor: history{}.Name(), Event: t.label(src)}
		}
	}
	return it
}

// rise moves the floor forward to where the history begins now.
func (t *transcript) rise() {
	floor := max(t.horizon.floor, t.lastTurns(t.in.Role.Context.Last))
	if floor <= t.floor {
		return
	}
	t.floor, t.stale = floor, true
	for ; t.looked < floor; t.looked++ {
		if t.events[t.looked].Kind == contextscope.KindSteering {
			t.spared = append(t.spared, t.looked)
		}
	}
}

// size is the size of the request in bytes, where the transcript is not stale.
func (t *transcript) size() int { return t.fixed + t.bytes }

// extend adds an item to what is there, where that is all that it changes.
func (t *transcript) extend(it pairing.Item, notes *pairing.Pairing) {
	if it = t.headless(it); content.HasResponses(it.Content) {
		kept := notes.WithoutOrphans([]pairing.Item{it}, t.seen)
		if it.Content = nil; len(kept) > 0 {
			it = kept[0]
		}
	}
	switch {
	case it.Content == nil:
		t.remark(notes)
	case t.events[it.Src].Kind == contextscope.KindTurn:
		t.turn(it, notes)
	case content.HasResponses(it.Content):
		t.results(it, notes)
	default:
		t.remark(notes)
		t.put(it)
		if t.open != nil {
			t.open.since = append(t.open.since, it)
		}
	}
}

// remark keeps notes on an event that stands for itself.
func (t *transcript) remark(notes *pairing.Pairing) {
	t.notes = append(t.notes, notes.Sorted()...)
	if t.open != nil {
		t.open.own.Take(notes)
	}
}

// turn adds a model's turn. What came before it is settled.
func (t *transcript) turn(it pairing.Item, notes *pairing.Pairing) {
	noted := len(t.notes)
	t.put(it)
	t.mark(it)
	for _, s := range t.sweep {
		s.run(t)
	}
	t.open = nil
	if !content.HasCalls(it.Content) {
		t.remark(notes)
		return
	}
	keys := map[content.Key]bool{}
	content.EachCall(it.Content, func(fc *genai.FunctionCall) {
		keys[content.CallKey(fc)], t.seen[content.CallKey(fc)] = true, true
	})
	t.open = &openTurn{call: it, keys: keys, own: notes, mark: t.draft, ids: len(t.ids), notes: noted}
	t.settle()
}

// results adds results to the open turn. Those of another turn reach back.
func (t *transcript) results(it pairing.Item, notes *pairing.Pairing) {
	foreign := t.open == nil
	content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
		foreign = foreign || !t.open.keys[content.ResponseKey(fr)]
	})
	if foreign {
		t.stale = true
		return
	}
	t.open.own.Take(notes)
	t.open.since = append(t.open.since, it)
	t.settle()
}

// settle puts the open turn together with what followed it.
func (t *transcript) settle() *pairing.Pairing {
	o := t.open
	t.contents = t.contents[:len(o.mark.contents)]
	t.own, t.bytes, t.parts = o.mark.own, o.mark.bytes, o.mark.parts
	t.ids = t.ids[:o.ids]
	pair := t.pairing()
	settled := pair.Settle(pair.History(append([]pairing.Item{o.call}, o.since...)))
	for _, it := range settled[1:] {
		t.put(it)
	}
	t.answered(&t.marks[len(t.marks)-1], settled[1:])
	all := t.pairing()
	all.Take(o.own)
	all.Take(pair)
	t.notes = append(t.notes[:o.notes], all.Sorted()...)
	return pair
}

// mark notes where a turn stands that was put last.
func (t *transcript) mark(it pairing.Item) {
	t.marks = append(t.marks, turnMark{content: len(t.contents) - 1, src: it.Src, seen: t.turnsUpTo(it.Src)})
}

// answered notes which events a turn's results come from: they are right after it.
func (t *transcript) answered(m *turnMark, after []pairing.Item) {
	m.results = m.results[:0]
	m.seen = t.turnsUpTo(m.src)
	if len(after) == 0 || after[0].Src < 0 || !content.HasResponses(after[0].Content) {
		return
	}
	m.results = append(append(m.results, after[0].Src), after[0].Merged...)
	m.seen = t.turnsUpTo(slices.Max(m.results))
}

// turnsUpTo counts the turns up to and with a place.
func (t *transcript) turnsUpTo(src int) int { return sort.SearchInts(t.turns, src+1) }

// put adds an item's content.
func (t *transcript) put(it pairing.Item) {
	t.add(it.Content)
	for _, src := range slices.Concat([]int{it.Src}, it.Merged) {
		if src >= 0 {
			t.ids = append(t.ids, t.label(src))
		}
	}
}
