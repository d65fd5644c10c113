package contextscope

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// handlePrefix begins the handle of an event.
const handlePrefix = "event:"

// EventHandle names an event of the agent's own session, for load_artifact.
func EventHandle(seq int) string { return handlePrefix + strconv.Itoa(seq) }

// ParseEventHandle reads what EventHandle wrote, and nothing else.
func ParseEventHandle(text string) (seq int, ok bool) {
	digits, ok := strings.CutPrefix(text, handlePrefix)
	if !ok {
		return 0, false
	}
	seq, err := strconv.Atoi(digits)
	return seq, err == nil && seq > 0 && strconv.Itoa(seq) == digits
}

// RenderEvent is an event as text, whole: what was said, calls with their arguments, and results with real line breaks.
// Thoughts are left out.
func RenderEvent(e Event) string {
	if e.Content == nil {
		return string(e.Data)
	}
	var pieces []string
	for _, p := range e.Content.Parts {
		if head, body := partText(p); head != "" {
			pieces = append(pieces, head+"\n"+body)
		} else if body != "" {
			pieces = append(pieces, body)
		}
	}
	return strings.Join(pieces, "\n\n")
}

// partText is a part in words: what it is, empty for words, and what it says.
func partText(p *genai.Part) (head, body string) {
	switch {
	case p == nil:
		return "", ""
	case p.FunctionCall != nil:
		return "", p.FunctionCall.Name + "(" + argsText(p.FunctionCall.Args) + ")"
	case p.FunctionResponse != nil:
		return p.FunctionResponse.Name + " returned:", resultText(p.FunctionResponse.Response)
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

func argsText(args map[string]any) string {
	if len(args) == 0 {
		return "{}"
	}
	return compactJSON(args)
}

// resultText writes a result's facts, one a line and sorted, and after them its output as it is.
func resultText(response map[string]any) string {
	lines := make([]string, 0, len(response))
	for _, key := range slices.SortedFunc(maps.Keys(response), func(a, b string) int {
		return cmp.Or(outputLast(a)-outputLast(b), strings.Compare(a, b))
	}) {
		text, isText := response[key].(string)
		if !isText {
			text = compactJSON(response[key])
		}
		if key != outputKey {
			text = key + ": " + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// outputKey is the key of what a tool printed, errorKey of why it failed.
const (
	outputKey = "output"
	errorKey  = "error"
)

func outputLast(key string) int {
	if key == outputKey {
		return 1
	}
	return 0
}

// excerpt is a text of more than limit bytes as its head, its tail and a line between them that names the event which has
// all of it. Shorter text stays as it is.
func excerpt(text string, limit, seq int) string {
	if len(text) <= limit {
		return text
	}
	edge := limit * 2 / 5
	return fmt.Sprintf("%s\n[... %d bytes in all: %s ...]\n%s", head(text, edge), len(text), EventHandle(seq), tailOf(text, edge))
}
