// Package pairing puts the result of each call right after it. Its input are the events of a session as items; its output are
// the items in order with each call answered once, and notes on what was left out or made up. It never changes a content that
// an event holds.
package pairing

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// Placeholder is shown to a model as the result of a call whose result was never recorded. It names no cause: there is none to
// name.
const Placeholder = "No response available for this function call."

// placeholderPart answers a call that nothing answered.
func placeholderPart(call *genai.FunctionCall) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{"result": Placeholder},
	}}
}

// CallIndex knows the places of every call, ascending.
type CallIndex map[content.Key][]int

// IndexCalls finds the places of all calls.
func IndexCalls(items []Item) CallIndex {
	idx := CallIndex{}
	for i, it := range items {
		content.EachCall(it.Content, func(fc *genai.FunctionCall) {
			k := content.CallKey(fc)
			idx[k] = append(idx[k], i)
		})
	}
	return idx
}

// Owner is the place of the nearest call with the key before a place, or -1. An id can be used again in a session, so
// the nearest one is the one meant.
func (idx CallIndex) Owner(k content.Key, before int) int {
	places := idx[k]
	n := sort.SearchInts(places, before)
	if n == 0 {
		return -1
	}
	return places[n-1]
}

// Pairing puts calls and results together, and notes what it had to leave out or make up.
type Pairing struct {
	// Label names the event at a place, for the notes.
	Label func(src int) string
	notes []note
}

// DropOrphans removes results that no call before them asked for.
func (p *Pairing) DropOrphans(items []Item) []Item {
	seen := map[content.Key]bool{}
	kept := make([]Item, 0, len(items))
	for _, it := range items {
		if content.HasResponses(it.Content) {
			it.Content = content.Keep(it.Content, func(part *genai.Part) bool {
				if part.FunctionResponse == nil {
					return true
				}
				k := content.ResponseKey(part.FunctionResponse)
				if !seen[k] {
					p.Notef(it.Src, "the result of %s was left out: no call before it", k)
				}
				return seen[k]
			})
		}
		if it.Content != nil {
			kept = append(kept, it)
		}
		content.EachCall(it.Content, func(fc *genai.FunctionCall) { seen[content.CallKey(fc)] = true })
	}
	return kept
}

// History puts every result right after its call, and makes one of several events of results.
func (p *Pairing) History(items []Item) []Item {
	owned := p.attribute(items)
	if owned == nil {
		return items
	}
	stale := p.staleTurns(items, owned)
	out := make([]Item, 0, len(items))
	for i, it := range items {
		if content.HasResponses(it.Content) || stale[i] {
			continue
		}
		out = append(out, it)
		if !content.HasCalls(it.Content) {
			continue
		}
		if group := answersOf(items, owned, i); len(group) > 0 {
			out = append(out, p.Merge(group))
		}
	}
	return out
}

// ownedCall is a call, told apart from others with the same id by its place.
type ownedCall struct {
	key   content.Key
	place int
}

// attribute gives each result to the nearest call before it; a call's answers are the places of its results, ascending.
// It is nil when there is no result at all.
func (p *Pairing) attribute(items []Item) map[ownedCall][]int {
	calls := CallIndex{}
	results := false
	for i, it := range items {
		if content.HasResponses(it.Content) {
			results = true
			continue
		}
		content.EachCall(it.Content, func(fc *genai.FunctionCall) {
			k := content.CallKey(fc)
			calls[k] = append(calls[k], i)
		})
	}
	if !results {
		return nil
	}
	owned := map[ownedCall][]int{}
	for i, it := range items {
		content.EachResponse(it.Content, func(fr *genai.FunctionResponse) {
			k := content.ResponseKey(fr)
			call := calls.Owner(k, i)
			if call < 0 && len(calls[k]) > 0 {
				// Its own call sits among results and cannot be answered; the first proper one with its id gets it, as in ADK.
				call = calls[k][0]
			}
			if call >= 0 {
				owned[ownedCall{k, call}] = append(owned[ownedCall{k, call}], i)
			}
		})
	}
	return owned
}

// staleTurns finds text that a model wrote from a result which a later one replaced: the run of text turns right after
// the replaced result.
func (p *Pairing) staleTurns(items []Item, owned map[ownedCall][]int) map[int]bool {
	newest, superseded := map[int]bool{}, map[int]bool{}
	for _, places := range owned {
		newest[places[len(places)-1]] = true
		for _, place := range places {
			superseded[place] = true
		}
	}
	stale := map[int]bool{}
	for place := range superseded {
		for i := place + 1; !newest[place] && i < len(items) && textTurn(items[i].Content); i++ {
			stale[i] = true
		}
	}
	for _, i := range sortedPlaces(stale) {
		p.Notef(items[i].Src, "left out: it was said from a result that a later one replaced")
	}
	return stale
}

// textTurn reports whether a content is a model's turn with text and without calls.
func textTurn(c *genai.Content) bool {
	return c != nil && c.Role == genai.RoleModel && !content.HasCalls(c) &&
		slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.Text != "" })
}

// answersOf collects the newest results of every call at a place, in the order in which they came.
func answersOf(items []Item, owned map[ownedCall][]int, place int) []Item {
	places := map[int]bool{}
	content.EachCall(items[place].Content, func(fc *genai.FunctionCall) {
		if answers := owned[ownedCall{content.CallKey(fc), place}]; len(answers) > 0 {
			places[answers[len(answers)-1]] = true
		}
	})
	group := make([]Item, 0, len(places))
	for _, i := range sortedPlaces(places) {
		group = append(group, items[i])
	}
	return group
}

func sortedPlaces(set map[int]bool) []int {
	places := make([]int, 0, len(set))
	for i := range set {
		places = append(places, i)
	}
	slices.Sort(places)
	return places
}

// Merge makes one item of several events of results, as ADK does: a later result of the same call takes the place of the
// earlier one, new ones and what is no result are kept where they came. A single event is left as it is. What a run sends
// is put in call order afterwards, by settle.
func (p *Pairing) Merge(group []Item) Item {
	first := group[0]
	if len(group) == 1 {
		return first
	}
	var parts []*genai.Part
	at := map[content.Key]int{}
	for n, it := range group {
		if n > 0 {
			first.Merged = append(slices.Clone(first.Merged), it.Src)
		}
		for _, part := range it.Content.Parts {
			if part == nil {
				continue
			}
			if part.FunctionResponse != nil {
				k := content.ResponseKey(part.FunctionResponse)
				if i, known := at[k]; known && n > 0 {
					parts[i] = part
					continue
				}
				at[k] = len(parts)
			}
			parts = append(parts, part)
		}
	}
	p.Notef(first.Src, "merged with %d later events of results of the same calls", len(group)-1)
	first.Content = &genai.Content{Role: first.Content.Role, Parts: parts}
	return first
}

// inCallOrder arranges the results among parts in the order of the calls, each in a place where a result stood. Results
// of no call here come last, as they came.
func inCallOrder(call *genai.Content, parts []*genai.Part) []*genai.Part {
	var slots []int
	byKey := map[content.Key][]*genai.Part{}
	for i, part := range parts {
		if part.FunctionResponse != nil {
			slots = append(slots, i)
			k := content.ResponseKey(part.FunctionResponse)
			byKey[k] = append(byKey[k], part)
		}
	}
	var ordered []*genai.Part
	take := func(k content.Key) {
		if queue := byKey[k]; len(queue) > 0 {
			ordered, byKey[k] = append(ordered, queue[0]), queue[1:]
		}
	}
	content.EachCall(call, func(fc *genai.FunctionCall) { take(content.CallKey(fc)) })
	for _, i := range slots {
		take(content.ResponseKey(parts[i].FunctionResponse))
	}
	out := slices.Clone(parts)
	for n, i := range slots {
		out[i] = ordered[n]
	}
	return out
}

// note describes a repair in the event at a place.
type note struct {
	about int
	text  string
}

// Notef notes something on the event at a place.
func (p *Pairing) Notef(src int, format string, args ...any) {
	p.Note(src, "event "+p.Label(src)+": "+fmt.Sprintf(format, args...))
}

// Note adds a note; a place below every event's is that of none of them.
func (p *Pairing) Note(about int, text string) { p.notes = append(p.notes, note{about, text}) }

// Sorted returns the notes in the order of the events, and of the alphabet on one event.
func (p *Pairing) Sorted() []string {
	notes := slices.SortedFunc(slices.Values(p.notes), func(a, b note) int {
		return cmp.Or(cmp.Compare(a.about, b.about), strings.Compare(a.text, b.text))
	})
	out := make([]string, len(notes))
	for i, n := range notes {
		out[i] = n.text
	}
	return out
}
