package adk

import (
	"slices"

	"divisi/contextscope/content"
	"divisi/contextscope/pairing"

	"google.golang.org/genai"
)

// latest is the rule for a history that ends in results of a call that is not right before them: the model continues from
// that call, so what was said between call and result is dropped, and all results of the call become one. Other calls in between,
// and their results, stay.
func latest(p *pairing.Pairing, items []pairing.Item) []pairing.Item {
	end := len(items) - 1
	if end < 1 || !content.HasResponses(items[end].Content) {
		return items
	}
	calls := pairing.IndexCalls(items[:end])
	byCall, newest := splitByCall(items[end].Content, calls, end)
	if newest < 0 || newest == end-1 && len(byCall) == 1 {
		return items
	}
	p.Notef(items[end].Src, "results of an earlier call came last: what was said between event %s and them was left out",
		p.Label(items[newest].Src))
	out := make([]pairing.Item, 0, len(items))
	for i, it := range items[:end] {
		if i > newest && !content.HasCalls(it.Content) && !content.HasResponses(it.Content) {
			continue
		}
		if kept := withoutResults(it, calls, i, byCall); kept.Content != nil {
			out = append(out, kept)
		}
		if parts, ok := byCall[i]; ok {
			out = append(out, regroup(p, items, calls, i, parts))
		}
	}
	return out
}

// splitByCall sorts the parts of the last event by the place of the call that they answer. What is no result goes with
// the newest call.
func splitByCall(last *genai.Content, calls pairing.CallIndex, end int) (map[int][]*genai.Part, int) {
	byCall, newest := map[int][]*genai.Part{}, -1
	var rest []*genai.Part
	for _, part := range last.Parts {
		switch {
		case part == nil:
		case part.FunctionResponse == nil:
			rest = append(rest, part)
		default:
			if i := calls.Owner(content.ResponseKey(part.FunctionResponse), end); i >= 0 {
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
func withoutResults(it pairing.Item, calls pairing.CallIndex, place int, byCall map[int][]*genai.Part) pairing.Item {
	if !content.HasResponses(it.Content) {
		return it
	}
	it.Content = content.Keep(it.Content, func(part *genai.Part) bool {
		if part.FunctionResponse == nil {
			return true
		}
		_, taken := byCall[calls.Owner(content.ResponseKey(part.FunctionResponse), place)]
		return !taken
	})
	if !content.HasResponses(it.Content) && !content.HasCalls(it.Content) {
		it.Content = nil
	}
	return it
}

// regroup makes one item of all results of the call at a place: those between it and the last event, then the given
// parts of the last event.
func regroup(p *pairing.Pairing, items []pairing.Item, calls pairing.CallIndex, call int, parts []*genai.Part) pairing.Item {
	end := len(items) - 1
	var group []pairing.Item
	for i := call + 1; i < end; i++ {
		it := items[i]
		if !content.HasResponses(it.Content) {
			continue
		}
		mixed := content.HasCalls(it.Content)
		it.Content = content.Keep(it.Content, func(part *genai.Part) bool {
			if part.FunctionResponse == nil {
				return !mixed
			}
			return calls.Owner(content.ResponseKey(part.FunctionResponse), i) == call
		})
		if content.HasResponses(it.Content) {
			group = append(group, it)
		}
	}
	last := items[end]
	last.Content = &genai.Content{Role: last.Content.Role, Parts: parts}
	return p.Merge(append(group, last))
}

// answerAll gives every call a result in the content right after it: a placeholder joins the results that are there, or
// becomes a user content of its own. Contents whose calls are all answered are left as they are.
func answerAll(p *pairing.Pairing, items []pairing.Item) []pairing.Item {
	items = slices.Clone(items)
	out := make([]pairing.Item, 0, len(items))
	for i, it := range items {
		out = append(out, it)
		if !content.HasCalls(it.Content) {
			continue
		}
		if i+1 == len(items) || !content.HasResponses(items[i+1].Content) {
			out = append(out, p.AllMissing(it))
			continue
		}
		// The results can hold calls themselves: they are written back, to be inspected in their turn.
		next := &items[i+1]
		if made := p.Missing(it, next.Content); len(made) > 0 {
			answers, rest := pairing.Sorted(next.Content)
			next.Content = &genai.Content{Role: next.Content.Role, Parts: slices.Concat(answers, made, rest)}
		}
	}
	return out
}
