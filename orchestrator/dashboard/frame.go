package dashboard

import (
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/report"
)

// maxLine bounds a line of the page's log, in characters, and maxWords what is read to make it, in bytes.
const (
	maxLine  = 600
	maxWords = 4 * maxLine
)

// logLine is an event as a row of the page's log.
type logLine struct {
	ID    string            `json:"id"`
	Time  int64             `json:"time"` // in unix milliseconds
	Kind  contextscope.Kind `json:"kind"`
	Task  string            `json:"task,omitempty"`
	Agent string            `json:"agent,omitempty"`
	Role  string            `json:"role,omitempty"`
	Text  string            `json:"text"`
	Level string            `json:"level"`
	// Fold reports that it tells a person nothing by itself.
	Fold bool `json:"fold,omitempty"`
}

// encode makes the server-sent event of a batch: the position as its id, a line for each event as its data.
func encode(b Batch) frame {
	lines := make([]logLine, len(b.Events))
	for i := range b.Events {
		lines[i] = lineOf(&b.Events[i])
	}
	return frame{pos: b.Pos, data: fmt.Appendf(nil, "id: %d\ndata: %s\n\n", b.Pos, spec.JSONText(lines))}
}

func lineOf(e *contextscope.Event) logLine {
	var words []string
	tone, fold := report.Quiet, true
	for _, l := range report.Lines(e) {
		tone, fold = max(tone, l.Tone), fold && l.Fold
		for _, s := range []string{l.Text, l.More} {
			if s != "" {
				words = append(words, text.Clip(s, maxWords))
			}
		}
	}
	return logLine{
		ID: e.ID, Time: e.Time.UnixMilli(), Kind: e.Kind, Task: e.Task, Agent: e.Agent, Role: e.Role,
		Text: text.Short(text.OneLine(strings.Join(words, "; ")), maxLine), Level: tone.String(), Fold: fold,
	}
}

// placed returns the batch's events, each with its position.
func placed(b Batch) []contextscope.Event {
	events := make([]contextscope.Event, len(b.Events))
	for i, e := range b.Events {
		e.Pos = b.Pos
		events[i] = e
	}
	return events
}
