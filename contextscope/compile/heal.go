package compile

import (
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"
)

// ownItem takes an event as a turn of the conversation; without a content it is none. It gets the role that its kind has,
// and nothing that a model's interface refuses: a log that was damaged or written by another program cannot break the
// request. The event itself is not touched.
func ownItem(e *contextscope.Event, src int, pair *pairing.Pairing) pairing.Item {
	it := pairing.Item{Author: pairing.User, Src: src}
	role := genai.RoleUser
	switch e.Kind {
	case contextscope.KindTurn:
		it.Author, role = e.Agent, genai.RoleModel
	case contextscope.KindTool, contextscope.KindUser, contextscope.KindSteering, contextscope.KindControl:
	default:
		return it
	}
	if e.Content == nil && e.Kind == contextscope.KindControl {
		return it // a note of the runtime for people: it has no words for the model
	}
	c := inRole(e.Content, role)
	switch {
	case content.Empty(c):
		pair.Notef(src, "%s was left out: nothing in it that a model can see", e.Kind)
		return it
	case role == genai.RoleModel && !speaks(c):
		pair.Notef(src, "%s was left out: nothing but thoughts in it", e.Kind)
		return it
	case len(c.Parts) < len(e.Content.Parts):
		pair.Notef(src, "%d parts were left out: empty, or not of role %s", len(e.Content.Parts)-len(c.Parts), role)
	}
	if valid, changed := content.ValidContent(c); changed {
		pair.Notef(src, "invalid UTF-8 was replaced")
		c = valid
	}
	it.Content = c
	return it
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

// speaks says whether a model's turn has anything but thoughts: interfaces refuse a turn that has not, signed or unsigned.
func speaks(c *genai.Content) bool {
	for _, p := range c.Parts {
		if !p.Thought || p.FunctionCall != nil || p.ToolCall != nil || p.ToolResponse != nil {
			return true
		}
	}
	return false
}
