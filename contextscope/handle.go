package contextscope

import (
	"strconv"
	"strings"

	"divisi/contextscope/content"
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
		if head, body := content.PartText(p); head != "" {
			pieces = append(pieces, head+"\n"+body)
		} else if body != "" {
			pieces = append(pieces, body)
		}
	}
	return strings.Join(pieces, "\n\n")
}
