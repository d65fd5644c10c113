package adk

import (
	"slices"

	"divisi/contextscope/content"
	"divisi/contextscope/pairing"

	"google.golang.org/genai"
)

// strictly heals the items as the model's interface demands: calls are in model contents and results in user contents,
// nothing is empty, and every call is answered once, in call order, in the content after it. Unlike ADK's rule for results
// that come last, nothing between a call and its late result is dropped.
func strictly(p *pairing.Pairing, items []pairing.Item) []pairing.Item {
	var fitting []pairing.Item
	for _, it := range items {
		fitting = append(fitting, proper(p, it)...)
	}
	placed := p.DropOrphans(fitting)
	settled := p.Settle(moves(p, placed, p.History(placed)))
	return slices.DeleteFunc(settled, func(it pairing.Item) bool {
		if content.Empty(it.Content) {
			p.Notef(it.Src, "was left out: nothing in it that a model can see")
			return true
		}
		return false
	})
}

// proper gives an item the role that its calls and results demand. One that has both becomes two: its results first, for
// the calls before it, then the rest.
func proper(p *pairing.Pairing, it pairing.Item) []pairing.Item {
	c := content.Keep(it.Content, func(p *genai.Part) bool {
		return !content.IsEmptyPart(p) && (p.FunctionCall == nil || it.Author != pairing.User)
	})
	switch {
	case c == nil || len(c.Parts) < len(it.Content.Parts):
		p.Notef(it.Src, "empty parts, and calls that no model made, were left out")
		if c == nil {
			return nil
		}
	case !content.HasCalls(c) && (!content.HasResponses(c) || c.Role == genai.RoleUser):
		return []pairing.Item{it}
	}
	var split []pairing.Item
	put := func(role string, parts []*genai.Part) {
		if len(parts) > 0 {
			part := it
			part.Content = &genai.Content{Role: role, Parts: parts}
			split = append(split, part)
		}
	}
	switch results, rest := pairing.Sorted(c); {
	case content.HasCalls(c) || len(results) > 0 && c.Role == genai.RoleModel:
		put(genai.RoleUser, results)
		put(genai.RoleModel, rest)
	default:
		put(c.Role, c.Parts)
	}
	if len(split) > 1 {
		p.Notef(it.Src, "its results and its other parts became two contents")
	}
	return split
}

// alternate puts neighbours of one role together, each group being one content to come, with a user content first. Of
// narratives side by side the first alone reports what they are.
func alternate(items []pairing.Item) [][]pairing.Item {
	var groups [][]pairing.Item
	if len(items) == 0 || items[0].Content.Role != genai.RoleUser {
		opening := genai.NewContentFromText(content.Opening, genai.RoleUser)
		groups = append(groups, []pairing.Item{{Author: pairing.User, Src: -1, Content: opening}})
	}
	for _, it := range items {
		last := len(groups) - 1
		if last < 0 || groups[last][0].Content.Role != it.Content.Role {
			groups = append(groups, []pairing.Item{it})
			continue
		}
		if it.Told && groups[last][len(groups[last])-1].Told {
			it.Content = &genai.Content{Role: it.Content.Role, Parts: it.Content.Parts[1:]}
		}
		groups[last] = append(groups[last], it)
	}
	return groups
}

// joinedContent is the content of a group.
func joinedContent(group []pairing.Item) *genai.Content {
	if len(group) == 1 {
		return group[0].Content
	}
	c := &genai.Content{Role: group[0].Content.Role}
	for _, it := range group {
		c.Parts = append(c.Parts, it.Content.Parts...)
	}
	return c
}
