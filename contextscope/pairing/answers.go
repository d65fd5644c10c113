package pairing

import (
	"google.golang.org/genai"

	"divisi/contextscope/content"
)

// AllMissing answers every call of an item that nothing answered.
func (p *Pairing) AllMissing(it Item) Item {
	return Item{Author: User, Src: -1, Content: &genai.Content{Role: genai.RoleUser, Parts: p.Missing(it, nil)}}
}

// Missing makes a placeholder for each call that the results do not answer. A result answers one call only.
func (p *Pairing) Missing(call Item, results *genai.Content) []*genai.Part {
	answers := map[content.Key]int{}
	content.EachResponse(results, func(fr *genai.FunctionResponse) { answers[content.ResponseKey(fr)]++ })
	var made []*genai.Part
	content.EachCall(call.Content, func(fc *genai.FunctionCall) {
		k := content.CallKey(fc)
		if answers[k] > 0 {
			answers[k]--
			return
		}
		p.Notef(call.Src, "%s was never answered: its result is a placeholder", k)
		made = append(made, placeholderPart(fc))
	})
	return made
}

// joined puts results and placeholders in call order before everything else in the content.
func joined(call, results *genai.Content, made []*genai.Part) *genai.Content {
	answers, rest := Sorted(results)
	answers = inCallOrder(call, append(answers, made...))
	return &genai.Content{Role: results.Role, Parts: append(answers, rest...)}
}

// Sorted tells results from everything else in a content; each keeps its order.
func Sorted(c *genai.Content) (answers, rest []*genai.Part) {
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

// Settle makes of each call's results exactly what the model's interface takes: one user content with one result for
// each call, in call order, then whatever else was said there. Results that answer nothing are left out.
func (p *Pairing) Settle(items []Item) []Item {
	out := make([]Item, 0, len(items))
	for i := 0; i < len(items); i++ {
		it := items[i]
		if !content.HasCalls(it.Content) {
			if it.Content = p.withoutStrays(it); it.Content != nil {
				out = append(out, it)
			}
			continue
		}
		out = append(out, it)
		if i+1 < len(items) && content.HasResponses(items[i+1].Content) {
			i++
			out = append(out, p.exact(it, items[i]))
		} else {
			out = append(out, p.AllMissing(it))
		}
	}
	return out
}

func (p *Pairing) withoutStrays(it Item) *genai.Content {
	if !content.HasResponses(it.Content) {
		return it.Content
	}
	return content.Keep(it.Content, func(part *genai.Part) bool {
		if part.FunctionResponse != nil {
			p.Notef(it.Src, "the result of %s was left out: its call is not right before it",
				content.ResponseKey(part.FunctionResponse))
		}
		return part.FunctionResponse == nil
	})
}

func (p *Pairing) exact(call, results Item) Item {
	made := p.Missing(call, results.Content)
	full := results.Content
	if len(made) > 0 {
		full = joined(call.Content, full, made)
	}
	wanted := map[content.Key]int{}
	var keys []content.Key
	content.EachCall(call.Content, func(fc *genai.FunctionCall) {
		wanted[content.CallKey(fc)]++
		keys = append(keys, content.CallKey(fc))
	})
	kept := content.Keep(full, func(part *genai.Part) bool {
		if part.FunctionResponse == nil {
			return true
		}
		k := content.ResponseKey(part.FunctionResponse)
		if wanted[k]--; wanted[k] >= 0 {
			return true
		}
		p.Notef(results.Src, "a second result of %s was left out", k)
		return false
	})
	if !leads(kept, keys) {
		kept = joined(call.Content, kept, nil)
	}
	results.Content = kept
	return results
}

// leads reports whether a content begins with results of exactly these calls, in this order.
func leads(c *genai.Content, keys []content.Key) bool {
	for i, k := range keys {
		if i >= len(c.Parts) || c.Parts[i].FunctionResponse == nil || content.ResponseKey(c.Parts[i].FunctionResponse) != k {
			return false
		}
	}
	return true
}
