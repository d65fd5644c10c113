package contextscope

import (
	"fmt"
	"slices"
	"strconv"

	"divisi/internal/spec"

	"google.golang.org/genai"
)

// history writes the agent's own events: selected, calls paired with their results, and otherwise word for word, thoughts
// and signatures on the very parts on which they came.
type history struct{}

// Name implements processor.
func (history) Name() string { return "history" }

// Process implements processor.
func (p history) Process(st *state) {
	events := st.in.Events
	pair := &pairing{label: func(src int) string { return eventLabel(events, src) }}
	items := ownItems(events, pair)
	if st.in.Include == spec.IncludeNone {
		items = currentTurn(items, events, pair)
	}
	items = pair.settle(pair.history(pair.dropOrphans(items)))
	t := Trace{Processor: p.Name(), What: "own events"}
	for _, it := range items {
		st.add(it.content)
		t.Parts += len(it.content.Parts)
		t.Tokens += Tokens(it.content)
		for _, src := range slices.Concat([]int{it.src}, it.merged) {
			if src >= 0 {
				t.Events = append(t.Events, pair.label(src))
			}
		}
	}
	t.What = fmt.Sprintf("%d of %d events of the session", len(t.Events), len(events))
	t.Notes = pair.notes
	st.trace(t)
}

// eventLabel names an event for a trace: its id, or its place where it has none.
func eventLabel(events []Event, src int) string {
	if src >= 0 && src < len(events) && events[src].ID != "" {
		return events[src].ID
	}
	return strconv.Itoa(src)
}

// ownItems takes the events that are turns of the conversation. Each gets the role that its kind has: a log that was
// damaged or written by another program cannot break the request.
func ownItems(events []Event, pair *pairing) []item {
	items := make([]item, 0, len(events))
	for i, e := range events {
		var c *genai.Content
		switch e.Kind {
		case KindTurn:
			c = inRole(e.Content, genai.RoleModel, func(p *genai.Part) bool { return p.FunctionResponse == nil })
		case KindTool, KindUser, KindSteering, KindControl:
			c = inRole(e.Content, genai.RoleUser, func(p *genai.Part) bool { return p.FunctionCall == nil })
		default:
			continue
		}
		if empty(c) {
			pair.notef("event %s (%s) was left out: nothing in it that a model can see", pair.label(i), e.Kind)
			continue
		}
		author := authorUser
		if e.Kind == KindTurn {
			author = e.Agent
		}
		items = append(items, item{author: author, content: c, src: i})
	}
	return items
}

// inRole is a content in a role, without parts that do not belong there and without empty ones: the same content where
// nothing is wrong with it.
func inRole(c *genai.Content, role string, belongs func(*genai.Part) bool) *genai.Content {
	if c == nil {
		return nil
	}
	kept := keepParts(c, func(p *genai.Part) bool { return belongs(p) && !hollow(p) })
	if kept == nil || kept.Role == role {
		return kept
	}
	return &genai.Content{Role: role, Parts: kept.Parts}
}

// hollow says whether a part holds nothing at all: interfaces refuse those.
func hollow(p *genai.Part) bool { return !visible(p) && p.Text == "" }

// currentTurn limits the items to the current turn: from the newest message that starts one. The brief, steering and the
// runtime's own reminders never do; without such a message the turn began with the brief.
func currentTurn(items []item, events []Event, pair *pairing) []item {
	start := turnStart(items, callIDs(items),
		func(it item) bool { return events[it.src].Kind == KindUser },
		func(it item) bool { return hasResponses(it.content) })
	if start <= 0 {
		return items
	}
	pair.notef("%d events before event %s were left out: include_contents is none", start, pair.label(items[start].src))
	return items[start:]
}
