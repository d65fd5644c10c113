package dashboard

import (
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/view/feed"
)

// maxLine bounds a line of the page's log, in characters, and maxWords what is read to make it, in bytes.
const (
	maxLine  = 600
	maxWords = 4 * maxLine
)

// logLine is an event as a row of the page's log.
type logLine struct {
	Pos   uint64            `json:"pos"`
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

// encode makes the lines of a batch, one for each event.
func encode(b Batch) frame {
	var data []byte
	for i := range b.Events {
		if i > 0 {
			data = append(data, ',')
		}
		l := lineOf(&b.Events[i])
		l.Pos = b.Pos
		data = append(data, spec.JSONText(l)...)
	}
	return frame{pos: b.Pos, data: data}
}

// array appends the lines of frames as a JSON array.
func array(out []byte, frames []frame) []byte {
	out = append(out, '[')
	for _, f := range frames {
		if len(f.data) > 0 && out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, f.data...)
	}
	return append(out, ']')
}

// eventOf is the server-sent event of frames: the position of the last one as its id, their lines as its data.
func eventOf(frames []frame) []byte {
	return append(array(fmt.Appendf(nil, "id: %d\ndata: ", frames[len(frames)-1].pos), frames), "\n\n"...)
}

func lineOf(e *contextscope.Event) logLine {
	var words []string
	tone, fold := feed.Quiet, true
	for _, l := range feed.Lines(e) {
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
