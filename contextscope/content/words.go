package content

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// PartText is a part in words: what it is, empty for words, and what it says.
func PartText(p *genai.Part) (head, body string) {
	switch {
	case p == nil:
		return "", ""
	case p.FunctionCall != nil:
		return "", p.FunctionCall.Name + "(" + ArgsText(p.FunctionCall.Args) + ")"
	case p.FunctionResponse != nil:
		return p.FunctionResponse.Name + " returned:", ResultText(p.FunctionResponse.Response)
	case p.Thought:
		return "", ""
	case p.InlineData != nil:
		return "", fmt.Sprintf("[%s, %d bytes]", p.InlineData.MIMEType, len(p.InlineData.Data))
	case p.FileData != nil:
		return "", fmt.Sprintf("[%s at %s]", p.FileData.MIMEType, p.FileData.FileURI)
	case p.ExecutableCode != nil:
		return "ran code:", p.ExecutableCode.Code
	case p.CodeExecutionResult != nil:
		return "the code printed:", p.CodeExecutionResult.Output
	default:
		return "", p.Text
	}
}

// Text returns the words of a content, without its thoughts.
func Text(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p != nil && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// ArgsText writes the arguments of a call.
func ArgsText(args map[string]any) string {
	if len(args) == 0 {
		return "{}"
	}
	return spec.JSONText(args)
}

// ResultText writes a result's facts, one a line and sorted, and after them its output as it is.
func ResultText(response map[string]any) string {
	lines := make([]string, 0, len(response))
	for _, key := range slices.SortedFunc(maps.Keys(response), func(a, b string) int {
		return cmp.Or(outputLast(a)-outputLast(b), strings.Compare(a, b))
	}) {
		text, isText := response[key].(string)
		if !isText {
			text = spec.JSONText(response[key])
		}
		if key != OutputKey {
			text = key + ": " + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

func outputLast(key string) int {
	if key == OutputKey {
		return 1
	}
	return 0
}

// OutputKey is the key of what a tool printed, ErrorKey of why it failed.
const (
	OutputKey = "output"
	ErrorKey  = "error"
)
