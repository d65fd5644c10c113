package contextscope

import (
	"fmt"
	"slices"
	"sort"

	"google.golang.org/genai"
)

// placeholder is what a model is told of a call whose result was never recorded. It names no cause: there is none to name.
const placeholder = "No response available for this function call."

// placeholderPart answers a call that nothing answered.
func placeholderPart(call *genai.FunctionCall) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{"result": placeholder},
	}}
}

// callKey is what a call and its result have in common: the id, or the tool's name where a model gives no ids.
type callKey struct{ id, name string }

func keyOf(id, name string) callKey {
	if id != "" {
		return callKey{id: id}
	}
	return callKey{name: name}
}

func callKeyOf(fc *genai.FunctionCall) callKey         { return keyOf(fc.ID, fc.Name) }
func responseKeyOf(fr *genai.FunctionResponse) callKey { return keyOf(fr.ID, fr.Name) }

func (k callKey) String() string {
	if k.id != "" {
		return fmt.Sprintf("call %q", k.id)
	}
	return fmt.Sprintf("a call of %q without an id", k.name)
}

// callIndex knows the places of every call, ascending.
type callIndex map[callKey][]int

func indexCalls(items []item) callIndex {
	idx := callIndex{}
	for i, it := range items {
		eachCall(it.content, func(fc *genai.FunctionCall) {
			k := callKeyOf(fc)
			idx[k] = append(idx[k], i)
		})
	}
	return idx
}

// owner is the place of the nearest call with the key before a place, or -1. An id can be used again in a session, so
// the nearest one is the one meant.
func (idx callIndex) owner(k callKey, before int) int {
	places := idx[k]
	n := sort.SearchInts(places, before)
	if n == 0 {
		return -1
	}
	return places[n-1]
}

// pairing puts calls and results together, and notes what it had to leave out or make up.
type pairing struct {
	// label names the event at a place, for the notes.
	label func(src int) string
	// notes say what was healed; about are the places of the events that they begin with.
	notes []string
	about []int
}

// dropOrphans removes results that no call before them asked for.
func (p *pairing) dropOrphans(items []item) []item {
	return p.withoutOrphans(items, map[callKey]bool{})
}

// withoutOrphans is dropOrphans where some calls were seen before; it adds those of the items to them.
func (p *pairing) withoutOrphans(items []item, seen map[callKey]bool) []item {
	kept := make([]item, 0, len(items))
	for _, it := range items {
		if hasResponses(it.content) {
			it.content = keepParts(it.content, func(part *genai.Part) bool {
				if part.FunctionResponse == nil {
					return true
				}
				k := responseKeyOf(part.FunctionResponse)
				if !seen[k] {
					p.notef(it.src, "the result of %s was left out: no call before it", k)
				}
				return seen[k]
			})
		}
		if it.content != nil {
			kept = append(kept, it)
		}
		eachCall(it.content, func(fc *genai.FunctionCall) { seen[callKeyOf(fc)] = true })
	}
	return kept
}

// keepParts returns the content with the parts that keep wants: the same one when that is all of them, nil when none.
func keepParts(c *genai.Content, keep func(*genai.Part) bool) *genai.Content {
	parts := make([]*genai.Part, 0, len(c.Parts))
	for _, part := range c.Parts {
		if part != nil && keep(part) {
			parts = append(parts, part)
		}
	}
	switch len(parts) {
	case len(c.Parts):
		return c
	case 0:
		return nil
	default:
		return &genai.Content{Role: c.Role, Parts: parts}
	}
}

// latest is the rule for a history that ends in results of a call that is not right before them: the model goes on from
// that call, so what was said between call and result is dropped, and all results of the call become one. Other calls in between,
// and their results, stay.
func (p *pairing) latest(items []item) []item {
	end := len(items) - 1
	if end < 1 || !hasResponses(items[end].content) {
		return items
	}
	calls := indexCalls(items[:end])
	byCall, newest := splitByCall(items[end].content, calls, end)
	if newest < 0 || newest == end-1 && len(byCall) == 1 {
		return items
	}
	p.notef(items[end].src, "results of an earlier call came last: what was said between event %s and them was left out",
		p.label(items[newest].src))
	out := make([]item, 0, len(items))
	for i, it := range items[:end] {
		if i > newest && !hasCalls(it.content) && !hasResponses(it.content) {
			continue
		}
		if kept := withoutResults(it, calls, i, byCall); kept.content != nil {
			out = append(out, kept)
		}
		if parts, ok := byCall[i]; ok {
			out = append(out, p.regroup(items, calls, i, parts))
		}
	}
	return out
}

// splitByCall sorts the parts of the last event by the place of the call that they answer. What is no result goes with
// the newest call.
func splitByCall(last *genai.Content, calls callIndex, end int) (map[int][]*genai.Part, int) {
	byCall, newest := map[int][]*genai.Part{}, -1
	var rest []*genai.Part
	for _, part := range last.Parts {
		switch {
		case part == nil:
		case part.FunctionResponse == nil:
			rest = append(rest, part)
		default:
			if i := calls.owner(responseKeyOf(part.FunctionResponse), end); i >= 0 {
				byCall[i] = append(byCall[i], part)
				newest = max(newest, i)
			}
		}
	}
	if newest >= 0 {
		byCall[newest] = append(byCall[newest], rest...)
	}
	return byCall, newest
}

// withoutResults takes from an event the results of the given calls, which are put elsewhere. An event of results that
// is left without any goes altogether.
func withoutResults(it item, calls callIndex, place int, byCall map[int][]*genai.Part) item {
	if !hasResponses(it.content) {
		return it
	}
	it.content = keepParts(it.content, func(part *genai.Part) bool {
		if part.FunctionResponse == nil {
			return true
		}
		_, taken := byCall[calls.owner(responseKeyOf(part.FunctionResponse), place)]
		return !taken
	})
	if !hasResponses(it.content) && !hasCalls(it.content) {
		it.content = nil
	}
	return it
}

// regroup makes one item of all results of the call at a place: those between it and the last event, then the given
// parts of the last event.
func (p *pairing) regroup(items []item, calls callIndex, call int, parts []*genai.Part) item {
	end := len(items) - 1
	var group []item
	for i := call + 1; i < end; i++ {
		it := items[i]
		if !hasResponses(it.content) {
			continue
		}
		mixed := hasCalls(it.content)
		it.content = keepParts(it.content, func(part *genai.Part) bool {
			if part.FunctionResponse == nil {
				return !mixed
			}
			return calls.owner(responseKeyOf(part.FunctionResponse), i) == call
		})
		if hasResponses(it.content) {
			group = append(group, it)
		}
	}
	last := items[end]
	last.content = &genai.Content{Role: last.content.Role, Parts: parts}
	return p.merge(append(group, last))
}

// history puts every result right after its call, and makes one of several events of results.
func (p *pairing) history(items []item) []item {
	owned := p.attribute(items)
	if owned == nil {
		return items
	}
	stale := p.staleTurns(items, owned)
	out := make([]item, 0, len(items))
	for i, it := range items {
		if hasResponses(it.content) || stale[i] {
			continue
		}
		out = append(out, it)
		if !hasCalls(it.content) {
			continue
		}
		if group := answersOf(items, owned, i); len(group) > 0 {
			out = append(out, p.merge(group))
		}
	}
	return out
}

// ownedCall is a call, told apart from others with the same id by its place.
type ownedCall struct {
	key   callKey
	place int
}

// attribute gives each result to the nearest call before it; a call's answers are the places of its results, ascending.
// It is nil when there is no result at all.
func (p *pairing) attribute(items []item) map[ownedCall][]int {
	calls := callIndex{}
	results := false
	for i, it := range items {
		if hasResponses(it.content) {
			results = true
			continue
		}
		eachCall(it.content, func(fc *genai.FunctionCall) {
			k := callKeyOf(fc)
			calls[k] = append(calls[k], i)
		})
	}
	if !results {
		return nil
	}
	owned := map[ownedCall][]int{}
	for i, it := range items {
		eachResponse(it.content, func(fr *genai.FunctionResponse) {
			k := responseKeyOf(fr)
			call := calls.owner(k, i)
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
func (p *pairing) staleTurns(items []item, owned map[ownedCall][]int) map[int]bool {
	newest, superseded := map[int]bool{}, map[int]bool{}
	for _, places := range owned {
		newest[places[len(places)-1]] = true
		for _, place := range places {
			superseded[place] = true
		}
	}
	stale := map[int]bool{}
	for place := range superseded {
		for i := place + 1; !newest[place] && i < len(items) && textTurn(items[i].content); i++ {
			stale[i] = true
		}
	}
	for _, i := range sortedPlaces(stale) {
		p.notef(items[i].src, "left out: it was said from a result that a later one replaced")
	}
	return stale
}

// textTurn says whether a content is a model's turn with text and without calls.
func textTurn(c *genai.Content) bool {
	return c != nil && c.Role == genai.RoleModel && !hasCalls(c) &&
		slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.Text != "" })
}

// answersOf collects the newest results of every call at a place, in the order in which they came.
func answersOf(items []item, owned map[ownedCall][]int, place int) []item {
	places := map[int]bool{}
	eachCall(items[place].content, func(fc *genai.FunctionCall) {
		if answers := owned[ownedCall{callKeyOf(fc), place}]; len(answers) > 0 {
			places[answers[len(answers)-1]] = true
		}
	})
	group := make([]item, 0, len(places))
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

// merge makes one item of several events of results, as ADK does: a later result of the same call takes the place of the
// earlier one, new ones and what is no result are kept where they came. A single event is left as it is. What a run sends
// is put in call order afterwards, by settle.
func (p *pairing) merge(group []item) item {
	first := group[0]
	if len(group) == 1 {
		return first
	}
	var parts []*genai.Part
	at := map[callKey]int{}
	for n, it := range group {
		if n > 0 {
			first.merged = append(slices.Clone(first.merged), it.src)
		}
		for _, part := range it.content.Parts {
			if part == nil {
				continue
			}
			if part.FunctionResponse != nil {
				k := responseKeyOf(part.FunctionResponse)
				if i, known := at[k]; known && n > 0 {
					parts[i] = part
					continue
				}
				at[k] = len(parts)
			}
			parts = append(parts, part)
		}
	}
	p.notef(first.src, "merged with %d later events of results of the same calls", len(group)-1)
	first.content = &genai.Content{Role: first.content.Role, Parts: parts}
	return first
}

// inCallOrder arranges the results among parts in the order of the calls, each in a place where a result stood. Results
// of no call here come last, as they came.
func inCallOrder(call *genai.Content, parts []*genai.Part) []*genai.Part {
	var slots []int
	byKey := map[callKey][]*genai.Part{}
	for i, part := range parts {
		if part.FunctionResponse != nil {
			slots = append(slots, i)
			k := responseKeyOf(part.FunctionResponse)
			byKey[k] = append(byKey[k], part)
		}
	}
	var ordered []*genai.Part
	take := func(k callKey) {
		if queue := byKey[k]; len(queue) > 0 {
			ordered, byKey[k] = append(ordered, queue[0]), queue[1:]
		}
	}
	eachCall(call, func(fc *genai.FunctionCall) { take(callKeyOf(fc)) })
	for _, i := range slots {
		take(responseKeyOf(parts[i].FunctionResponse))
	}
	out := slices.Clone(parts)
	for n, i := range slots {
		out[i] = ordered[n]
	}
	return out
}
