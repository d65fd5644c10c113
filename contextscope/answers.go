package contextscope

import (
	"slices"

	"google.golang.org/genai"
)

// answerAll gives every call a result in the content right after it: a placeholder joins the results that are there, or
// becomes a user content of its own. Contents whose calls are all answered are left as they are.
func (p *pairing) answerAll(items []item) []item {
	items = slices.Clone(items)
	out := make([]item, 0, len(items))
	for i, it := range items {
		out = append(out, it)
		if !hasCalls(it.content) {
			continue
		}
		if i+1 == len(items) || !hasResponses(items[i+1].content) {
			out = append(out, p.allMissing(it))
			continue
		}
		// The results can hold calls themselves: they are written back, to be looked at in their turn.
		next := &items[i+1]
		if made := p.missing(it, next.content); len(made) > 0 {
			answers, rest := sorted(next.content)
			next.content = &genai.Content{Role: next.content.Role, Parts: slices.Concat(answers, made, rest)}
		}
	}
	return out
}

// allMissing answers every call of an item that nothing answered.
func (p *pairing) allMissing(it item) item {
	return item{author: authorUser, src: -1, content: &genai.Content{Role: genai.RoleUser, Parts: p.missing(it, nil)}}
}

// missing makes a placeholder for each call that the results do not answer. A result answers one call only.
func (p *pairing) missing(call item, results *genai.Content) []*genai.Part {
	answers := map[callKey]int{}
	eachResponse(results, func(fr *genai.FunctionResponse) { answers[responseKeyOf(fr)]++ })
	var made []*genai.Part
	eachCall(call.content, func(fc *genai.FunctionCall) {
		k := callKeyOf(fc)
		if answers[k] > 0 {
			answers[k]--
			return
		}
		p.notef(call.src, "%s was never answered: a placeholder stands for its result", k)
		made = append(made, placeholderPart(fc))
	})
	return made
}

// joined puts results and placeholders in call order before everything else in the content.
func joined(call, results *genai.Content, made []*genai.Part) *genai.Content {
	answers, rest := sorted(results)
	answers = inCallOrder(call, append(answers, made...))
	return &genai.Content{Role: results.Role, Parts: append(answers, rest...)}
}

// sorted tells results from everything else in a content; each keeps its order.
func sorted(c *genai.Content) (answers, rest []*genai.Part) {
	for _, part := range c.Parts {
		switch {
		case part == nil:
		case part.FunctionResponse != nil:
			answers = append(answers, part)
		default:
			rest = append(rest, part)
		}
	}
	return answers, rest
}

// settle makes of each call's results exactly what the model's interface takes: one user content with one result for
// each call, in call order, then whatever else was said there. Results that answer nothing are left out.
func (p *pairing) settle(items []item) []item {
	out := make([]item, 0, len(items))
	for i := 0; i < len(items); i++ {
		it := items[i]
		if !hasCalls(it.content) {
			if it.content = p.withoutStrays(it); it.content != nil {
				out = append(out, it)
			}
			continue
		}
		out = append(out, it)
		if i+1 < len(items) && hasResponses(items[i+1].content) {
			i++
			out = append(out, p.exact(it, items[i]))
		} else {
			out = append(out, p.allMissing(it))
		}
	}
	return out
}

func (p *pairing) withoutStrays(it item) *genai.Content {
	if !hasResponses(it.content) {
		return it.content
	}
	return keepParts(it.content, func(part *genai.Part) bool {
		if part.FunctionResponse != nil {
			p.notef(it.src, "the result of %s was left out: its call is not right before it",
				responseKeyOf(part.FunctionResponse))
		}
		return part.FunctionResponse == nil
	})
}

func (p *pairing) exact(call, results item) item {
	made := p.missing(call, results.content)
	full := results.content
	if len(made) > 0 {
		full = joined(call.content, full, made)
	}
	wanted := map[callKey]int{}
	var keys []callKey
	eachCall(call.content, func(fc *genai.FunctionCall) {
		wanted[callKeyOf(fc)]++
		keys = append(keys, callKeyOf(fc))
	})
	kept := keepParts(full, func(part *genai.Part) bool {
		if part.FunctionResponse == nil {
			return true
		}
		k := responseKeyOf(part.FunctionResponse)
		if wanted[k]--; wanted[k] >= 0 {
			return true
		}
		p.notef(results.src, "a second result of %s was left out", k)
		return false
	})
	if !leads(kept, keys) {
		kept = joined(call.content, kept, nil)
	}
	results.content = kept
	return results
}

// leads says whether a content begins with results of exactly these calls, in this order.
func leads(c *genai.Content, keys []callKey) bool {
	for i, k := range keys {
		if i >= len(c.Parts) || c.Parts[i].FunctionResponse == nil || responseKeyOf(c.Parts[i].FunctionResponse) != k {
			return false
		}
	}
	return true
}
