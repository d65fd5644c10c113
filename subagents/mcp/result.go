package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"divisi/subagents/tool"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultOf returns a server's answer as an agent reads it: its texts, what else there was in words, and its structured content
// where no text says the same. Pictures, sounds and other bytes are named and not shown.
func resultOf(r *sdk.CallToolResult) tool.Result {
	var parts []string
	same := r.StructuredContent == nil
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			same = same || says(t.Text, r.StructuredContent)
		}
		parts = append(parts, textOf(c))
	}
	text := strings.Join(parts, "\n")
	if r.IsError {
		if text == "" {
			text = "the tool failed without a reason"
		}
		return tool.Result{Output: map[string]any{"error": text}, Err: true}
	}
	out := tool.Text(text)
	switch {
	case !same && len(parts) == 0:
		out.Output = map[string]any{"output": r.StructuredContent}
	case !same:
		out.Output["structured"] = r.StructuredContent
	case text == "":
		out.Output["output"] = "The tool returned nothing."
	}
	return out
}

// says reports whether a text is a value written as JSON.
func says(text string, value any) bool {
	var v any
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	return d.Decode(&v) == nil && !d.More() && reflect.DeepEqual(v, value)
}

func textOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return unseen("picture", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return unseen("sound", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[a link to %s: %s]", c.URI, strings.TrimSpace(c.Name+" "+c.Description)))
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "[an empty resource]"
		case c.Resource.Text != "" || len(c.Resource.Blob) == 0:
			return fmt.Sprintf("[%s]\n%s", c.Resource.URI, c.Resource.Text)
		}
		return fmt.Sprintf("[%s]\n%s", c.Resource.URI, unseen("file", c.Resource.MIMEType, len(c.Resource.Blob)))
	}
	return "[something that this program does not know]"
}

func unseen(what, mime string, size int) string {
	return fmt.Sprintf("[a %s of type %q, %d bytes, which is not shown]", what, mime, size)
}
