package contextscope

import (
	"slices"

	"google.golang.org/genai"
)

// strictly heals the items as the model's interface demands: calls stand in model contents and results in user contents,
// nothing is empty, and every call is answered once, in call order, in the content after it. Unlike ADK's rule for results
// that come last, nothing between a call and its late result is dropped.
func (p *pairing) strictly(items []item) []item {
	var proper []item
	for _, it := range items {
		proper = append(proper, p.proper(it)...)
	}
	placed := p.dropOrphans(proper)
	settled := p.settle(p.moves(placed, p.history(placed)))
	return slices.DeleteFunc(settled, func(it item) bool {
		if empty(it.content) {
			p.notef(it.src, "was left out: nothing in it that a model can see")
			return true
		}
		return false
	})
}

// proper gives an item the role that its calls and results demand. One that has both becomes two: its results first, for
// the calls before it, then the rest.
func (p *pairing) proper(it item) []item {
	c := keepParts(it.content, func(p *genai.Part) bool {
		return !hollow(p) && (p.FunctionCall == nil || it.author != authorUser)
	})
	switch {
	case c == nil || len(c.Parts) < len(it.content.Parts):
		p.notef(it.src, "empty parts, and calls that no model made, were left out")
		if c == nil {
			return nil
		}
	case !hasCalls(c) && (!hasResponses(c) || c.Role == genai.RoleUser):
		return []item{it}
	}
	var split []item
	put := func(role string, parts []*genai.Part) {
		if len(parts) > 0 {
			part := it
			part.content = &genai.Content{Role: role, Parts: parts}
			split = append(split, part)
		}
	}
	switch results, rest := sorted(c); {
	case hasCalls(c) || len(results) > 0 && c.Role == genai.RoleModel:
		put(genai.RoleUser, results)
		put(genai.RoleModel, rest)
	default:
		put(c.Role, c.Parts)
	}
	if len(split) > 1 {
		p.notef(it.src, "its results and its other parts became two contents")
	}
	return split
}

// alternate puts neighbours of one role together, each group being one content to come, with a user content first. Of
// narratives side by side the first alone says what they are.
func alternate(items []item) [][]item {
	var groups [][]item
	if len(items) == 0 || items[0].content.Role != genai.RoleUser {
		groups = append(groups, []item{{author: authorUser, src: -1, content: genai.NewContentFromText(opening, genai.RoleUser)}})
	}
	for _, it := range items {
		last := len(groups) - 1
		if last < 0 || groups[last][0].content.Role != it.content.Role {
			groups = append(groups, []item{it})
			continue
		}
		if it.told && groups[last][len(groups[last])-1].told {
			it.content = &genai.Content{Role: it.content.Role, Parts: it.content.Parts[1:]}
		}
		groups[last] = append(groups[last], it)
	}
	return groups
}

// joinedContent is the content of a group.
func joinedContent(group []item) *genai.Content {
	if len(group) == 1 {
		return group[0].content
	}
	c := &genai.Content{Role: group[0].content.Role}
	for _, it := range group {
		c.Parts = append(c.Parts, it.content.Parts...)
	}
	return c
}
