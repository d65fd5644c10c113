package compaction

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/text"

	"google.golang.org/genai"
)

const (
	// MaskEdge is how many bytes of a result's beginning and end a mask shows.
	MaskEdge = 200
	// maskSmall is the size up to which a value of a result stays beside the mask: an exit code, a path.
	maskSmall = 100
)

// Mask puts a handle in place of a tool's result: how much was there, how to see it, and edge bytes of its beginning and
// end. Small values stay as they are. The part itself is not touched.
func Mask(part *genai.Part, seq, edge int) *genai.Part {
	response := map[string]any{}
	large := map[string]any{}
	for key, value := range part.FunctionResponse.Response {
		if key == content.OutputKey || content.ValueBytes(value) > maskSmall {
			large[key] = value
			continue
		}
		response[key] = value
	}
	whole, alone := large[content.OutputKey].(string)
	if !alone || len(large) > 1 {
		whole = spec.JSONText(large)
	}
	mask := fmt.Sprintf("[%d bytes left out; load_artifact %q shows them]", len(whole), contextscope.EventHandle(seq))
	if len(whole) > 2*edge && edge > 0 {
		mask += "\n" + text.Head(whole, edge) + "…" + text.End(whole, edge)
	}
	response[content.OutputKey] = mask
	out, result := *part, *part.FunctionResponse
	result.Response = response
	result.Parts = nil
	out.FunctionResponse = &result
	return &out
}

// MaskLarge masks a large result, where that makes it smaller: one of many small values stays as it is.
func MaskLarge(part *genai.Part, seq int) (*genai.Part, bool) {
	size := content.PartBytes(part)
	if part.FunctionResponse == nil || size <= LargeResult {
		return part, false
	}
	if m := Mask(part, seq, MaskEdge); content.PartBytes(m) < size {
		return m, true
	}
	return part, false
}

// MaskContent replaces the results of a content for which mask returns true; without one it returns the same content.
func MaskContent(c *genai.Content, mask func(*genai.Part) (*genai.Part, bool)) (*genai.Content, bool) {
	var parts []*genai.Part
	for i, part := range c.Parts {
		if part.FunctionResponse == nil {
			continue
		}
		if m, done := mask(part); done {
			if parts == nil {
				parts = slices.Clone(c.Parts)
			}
			parts[i] = m
		}
	}
	if parts == nil {
		return c, false
	}
	return &genai.Content{Role: c.Role, Parts: parts}, true
}

// Excerpt is a text of more than limit bytes as its head, its tail and a line between them that names the event which has
// all of it. Shorter text stays as it is.
func Excerpt(whole string, limit, seq int) string {
	if len(whole) <= limit {
		return whole
	}
	edge := limit * 2 / 5
	return fmt.Sprintf("%s\n[... %d bytes in all: %s ...]\n%s",
		text.Head(whole, edge), len(whole), contextscope.EventHandle(seq), text.End(whole, edge))
}

// LargeResult is the size in bytes above which a tool's result is worth a handle in its place.
const LargeResult = 1000
