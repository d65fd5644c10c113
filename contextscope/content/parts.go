// Package content reads and measures genai contents: their calls, results and visible parts, their size in bytes and tokens,
// and their words. It returns new contents and never changes one, and it imports internal/spec alone, for its JSON.
package content

import (
	"fmt"
	"slices"

	"google.golang.org/genai"
)

// Empty reports whether a content holds nothing for a model: no role, no parts, or only invisible ones.
func Empty(c *genai.Content) bool {
	return c == nil || c.Role == "" || !slices.ContainsFunc(c.Parts, Visible)
}

// Visible reports whether a model gets something from a part. Calls, results, signatures and what a server-side tool left
// must be echoed even on a thought; other thoughts, and parts with nothing in them, are invisible.
func Visible(p *genai.Part) bool {
	if p == nil {
		return false
	}
	if p.FunctionCall != nil || p.FunctionResponse != nil || len(p.ThoughtSignature) > 0 ||
		p.ToolCall != nil || p.ToolResponse != nil {
		return true
	}
	return !p.Thought && (p.Text != "" || p.InlineData != nil || p.FileData != nil || p.ExecutableCode != nil ||
		p.CodeExecutionResult != nil)
}

// HasCalls reports whether a content has a call.
func HasCalls(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionCall != nil })
}

// HasResponses reports whether a content has a result.
func HasResponses(c *genai.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionResponse != nil })
}

// EachCall visits the calls of a content, in order.
func EachCall(c *genai.Content, visit func(*genai.FunctionCall)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil {
			visit(p.FunctionCall)
		}
	}
}

// EachResponse visits the results of a content, in order.
func EachResponse(c *genai.Content, visit func(*genai.FunctionResponse)) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionResponse != nil {
			visit(p.FunctionResponse)
		}
	}
}

// Keep returns the content with the parts that keep wants: the same one when that is all of them, nil when none.
func Keep(c *genai.Content, keep func(*genai.Part) bool) *genai.Content {
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

// IsEmptyPart reports whether a part holds nothing at all: interfaces refuse those.
func IsEmptyPart(p *genai.Part) bool { return !Visible(p) && p.Text == "" }

// Unsigned passes a part on that cannot be told in words. A signature is worth nothing to another model and never travels.
func Unsigned(p *genai.Part) *genai.Part {
	if len(p.ThoughtSignature) == 0 {
		return p
	}
	bare := *p
	bare.ThoughtSignature = nil
	return &bare
}

// Key matches a call and its result: the id, or the tool's name where a model gives no ids.
type Key struct{ id, name string }

func keyOf(id, name string) Key {
	if id != "" {
		return Key{id: id}
	}
	return Key{name: name}
}

// CallKey is the key of a call.
func CallKey(fc *genai.FunctionCall) Key { return keyOf(fc.ID, fc.Name) }

// ResponseKey is the key of a result.
func ResponseKey(fr *genai.FunctionResponse) Key { return keyOf(fr.ID, fr.Name) }

func (k Key) String() string {
	if k.id != "" {
		return fmt.Sprintf("call %q", k.id)
	}
	return fmt.Sprintf("a call of %q without an id", k.name)
}

// Opening stands in for a first user message where a history begins with the model: the interface wants one.
const Opening = "Go on with your task."
