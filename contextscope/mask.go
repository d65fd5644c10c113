package contextscope

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/genai"
)

const (
	// maskEdge is how many bytes of a result's beginning and end a mask shows.
	maskEdge = 200
	// maskSmall is the size up to which a value of a result stays beside the mask: an exit code, a path.
	maskSmall = 100
)

// masked puts a handle in place of a tool's result: how much was there, how to see it, and edge bytes of its beginning and
// end. Small values stay as they are. The part itself is not touched.
func masked(part *genai.Part, seq, edge int) *genai.Part {
	response := map[string]any{}
	large := map[string]any{}
	for key, value := range part.FunctionResponse.Response {
		if key == outputKey || valueBytes(value) > maskSmall {
			large[key] = value
			continue
		}
		response[key] = value
	}
	text, alone := large[outputKey].(string)
	if alone = alone && len(large) == 1; alone {
		text = toValid(text)
	} else {
		text = compactJSON(large)
	}
	mask := fmt.Sprintf("[%d bytes left out; load_artifact %q shows them]", len(text), EventHandle(seq))
	if len(text) > 2*edge && edge > 0 {
		mask += "\n" + head(text, edge) + "…" + tailOf(text, edge)
	}
	response[outputKey] = mask
	out, result := *part, *part.FunctionResponse
	result.Response, _ = validMap(response)
	result.Parts = nil
	out.FunctionResponse = &result
	return &out
}

// maskLarge masks a large result, where that makes it smaller: one of many small values stays as it is.
func maskLarge(part *genai.Part, seq int) (*genai.Part, bool) {
	size := partBytes(part)
	if part.FunctionResponse == nil || size <= LargeResult {
		return part, false
	}
	if m := masked(part, seq, maskEdge); partBytes(m) < size {
		return m, true
	}
	return part, false
}

// head is at most n bytes of the beginning of a text, in whole characters.
func head(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tailOf is at most n bytes of the end of a text, in whole characters.
func tailOf(text string, n int) string {
	from := len(text) - n
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// maskContent masks the results of a content that want says; the same content where it wants none.
func maskContent(c *genai.Content, mask func(*genai.Part) (*genai.Part, bool)) (*genai.Content, bool) {
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
