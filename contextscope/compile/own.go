package compile

import (
	"fmt"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/pairing"
)

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
// interface refuses; a note says what was left out. The event itself is not touched.
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
