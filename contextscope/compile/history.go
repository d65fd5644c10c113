package compile

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// history writes the agent's own events: selected, calls paired with their results, and otherwise word for word, thoughts
// and signatures on the very parts on which they came. Its trace has a line of its own for compactions and for each rule of
// the role that leaves something out.
func history(st *state) {
	before := st.draft
	st.settled = before.parts
	t := &transcript{in: st.in, events: st.in.Events, draft: st.draft, made: st.made}
	t.read()
	line := contextscope.Trace{
		What:   fmt.Sprintf("%d of %d events of the session", len(t.ids), len(t.events)),
		Events: t.ids, Notes: t.notes, Parts: t.parts - before.parts,
	}
	swept := t.sweep()
	line.Tokens = content.TokensOf(t.bytes - before.bytes)
	st.own, st.draft = t, t.draft
	st.trace(line)
	if line, found := t.compactionTrace(); found {
		st.trace(line)
	}
	if t.in.Role.Context.Last > 0 {
		st.trace(t.lastTrace())
	}
	st.req.Trace = append(st.req.Trace, swept...)
}

// transcript is an agent's own events as contents.
type transcript struct {
	draft

	in      *Input
	events  []contextscope.Event
	horizon compaction.Horizon
	// turns are the places of the model's turns, floor the place of the first event that counts.
	turns []int
	floor int

	ids   []string
	notes []string
	// made has the origin of each part that no event holds as it is.
	made  map[*genai.Part]Origin
	marks []turnMark
}

// turnMark is a turn of the history: its place in the request, and the events of its results.
type turnMark struct {
	// content is the place of the model's content in the request; the next one holds the results.
	content int
	src     int
	results []int
	// seen is how many turns came before the newest of its results.
	seen int
}

func (t *transcript) read() {
	t.horizon = compaction.HorizonOf(t.events)
	for src := range t.events {
		if c, _ := ownContent(&t.events[src]); c != nil && t.events[src].Kind == contextscope.KindTurn {
			t.turns = append(t.turns, src)
		}
	}
	t.floor = max(t.horizon.Floor, t.lastTurns(t.in.Role.Context.Last))
	pair := &pairing.Pairing{Label: t.label}
	whole := pair.Settle(pair.History(t.items(pair)))
	for i, it := range whole {
		t.put(it)
		if it.Src >= 0 && t.events[it.Src].Kind == contextscope.KindTurn {
			t.mark(it, whole[i+1:])
		}
	}
	t.notes = pair.Sorted()
}

// label names an event for a trace: its id, or its place where it has none.
func (t *transcript) label(src int) string {
	if src >= 0 && src < len(t.events) && t.events[src].ID != "" {
		return t.events[src].ID
	}
	return strconv.Itoa(src)
}

// items are the events that count as items, every result with a call before it. What replaces the events before them is added
// to the contents.
func (t *transcript) items(pair *pairing.Pairing) []pairing.Item {
	var items []pairing.Item
	for src := t.floor; src < len(t.events); src++ {
		if it := t.item(src, pair); it.Content != nil {
			items = append(items, it)
		}
	}
	items = pair.DropOrphans(items)
	if t.in.Include == spec.IncludeNone {
		if start := currentTurn(items, t.events); start >= 0 {
			pair.Note(-1, fmt.Sprintf("%d events before event %s were left out: include_contents is none",
				start, t.label(items[start].Src)))
			return pair.DropOrphans(items[start:])
		}
	}
	t.front()
	return items
}

// item is an event as an item. Results are dropped where the floor lies between them and their call, and shown as handles where
// a compaction asks for that.
func (t *transcript) item(src int, pair *pairing.Pairing) pairing.Item {
	it := ownItem(&t.events[src], src, pair)
	if !content.HasResponses(it.Content) {
		return it
	}
	if t.floor > 0 && t.turnsUpTo(src) == t.turnsUpTo(t.floor-1) {
		it.Content = content.Keep(it.Content, func(p *genai.Part) bool { return p.FunctionResponse == nil })
		return it
	}
	if t.horizon.Masked[src] {
		it.Content, _ = compaction.MaskContent(it.Content, func(p *genai.Part) (*genai.Part, bool) {
			m, done := compaction.MaskLarge(p, t.events[src].Seq)
			if done {
				t.made[m] = Origin{Processor: compactionStep, Event: t.label(src)}
			}
			return m, done
		})
	}
	return it
}

// mark notes the turn that was put last; after are the items that follow it.
func (t *transcript) mark(it pairing.Item, after []pairing.Item) {
	m := turnMark{content: len(t.contents) - 1, src: it.Src, seen: t.turnsUpTo(it.Src)}
	if len(after) > 0 && after[0].Src >= 0 && content.HasResponses(after[0].Content) {
		m.results = append([]int{after[0].Src}, after[0].Merged...)
		m.seen = t.turnsUpTo(slices.Max(m.results))
	}
	t.marks = append(t.marks, m)
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

// currentTurn is where the current turn begins: at the newest message that starts one, or before it where a result belongs
// to an earlier call. The brief, steering and the runtime's own reminders never start one; it is -1 where nothing did: then
// the turn began with the brief.
func currentTurn(items []pairing.Item, events []contextscope.Event) int {
	return pairing.TurnStart(items, pairing.CallIDs(items),
		func(it pairing.Item) bool { return events[it.Src].Kind == contextscope.KindUser },
		func(it pairing.Item) bool { return content.HasResponses(it.Content) })
}

// ownItem takes an event as a turn of the conversation; without a content it is none.
func ownItem(e *contextscope.Event, src int, pair *pairing.Pairing) pairing.Item {
	it := pairing.Item{Author: pairing.User, Src: src}
	if e.Kind == contextscope.KindTurn {
		it.Author = e.Agent
	}
	c, note := ownContent(e)
	if note != "" {
		pair.Notef(src, "%s", note)
	}
	it.Content = c
	return it
}

// steered is the steering event at a place as an item; false where the event is none.
func steered(events []contextscope.Event, src int) (pairing.Item, bool) {
	if events[src].Kind != contextscope.KindSteering {
		return pairing.Item{}, false
	}
	c, _ := ownContent(&events[src])
	return pairing.Item{Author: pairing.User, Src: src, Content: c}, c != nil && !content.HasResponses(c)
}

// ownContent is what an event says in the role that its kind has, nil where that is nothing, without parts that a model's
// interface refuses; a note reports what was left out. The event itself is not touched.
func ownContent(e *contextscope.Event) (c *genai.Content, note string) {
	role := genai.RoleUser
	switch e.Kind {
	case contextscope.KindTurn:
		role = genai.RoleModel
	case contextscope.KindTool, contextscope.KindUser, contextscope.KindSteering:
	case contextscope.KindControl:
		if e.Content == nil {
			return nil, "" // a note of the runtime for people: it has no words for the model
		}
	default:
		return nil, ""
	}
	c = inRole(e.Content, role)
	switch {
	case content.Empty(c):
		return nil, fmt.Sprintf("%s was left out: nothing in it that a model can see", e.Kind)
	case role == genai.RoleModel && !speaks(c):
		return nil, fmt.Sprintf("%s was left out: nothing but thoughts in it", e.Kind)
	case len(c.Parts) < len(e.Content.Parts):
		note = fmt.Sprintf("%d parts were left out: empty, or not of role %s", len(e.Content.Parts)-len(c.Parts), role)
	}
	return c, note
}

// inRole is a content in a role, without parts that do not belong there and without empty ones: the same content where
// nothing is wrong with it.
func inRole(c *genai.Content, role string) *genai.Content {
	if c == nil {
		return nil
	}
	kept := content.Keep(c, func(p *genai.Part) bool {
		if role == genai.RoleModel && p.FunctionResponse != nil || role == genai.RoleUser && p.FunctionCall != nil {
			return false
		}
		return !content.IsEmptyPart(p)
	})
	if kept == nil || kept.Role == role {
		return kept
	}
	return &genai.Content{Role: role, Parts: kept.Parts}
}

// speaks reports whether a model's turn has anything but thoughts: interfaces refuse a turn that has not, signed or unsigned.
func speaks(c *genai.Content) bool {
	for _, p := range c.Parts {
		if !p.Thought || p.FunctionCall != nil || p.ToolCall != nil || p.ToolResponse != nil {
			return true
		}
	}
	return false
}
