package dashboard

import (
	"encoding/json"
	"fmt"

	"divisi/contextscope"
)

// encode makes the server-sent event of a batch: the position as its id, the events as one line of JSON. An event that
// cannot be marshalled is sent without what is broken in it, because its place in the stream counts.
func encode(b Batch) (frame, error) {
	events := placed(b)
	body, err := json.Marshal(events)
	if err != nil {
		body, err = json.Marshal(readable(events))
	}
	if err != nil {
		return frame{}, fmt.Errorf("encode the batch at %d: %w", b.Pos, err)
	}
	data := fmt.Appendf(make([]byte, 0, len(body)+32), "id: %d\ndata: %s\n\n", b.Pos, body)
	return frame{pos: b.Pos, data: data}, nil
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

// readable empties the data and content that cannot be marshalled.
func readable(events []contextscope.Event) []contextscope.Event {
	for i := range events {
		if !json.Valid(events[i].Data) {
			events[i].Data = nil
		}
		if _, err := json.Marshal(events[i].Content); err != nil {
			events[i].Content = nil
		}
	}
	return events
}
