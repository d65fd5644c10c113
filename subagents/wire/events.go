package wire

import (
	"encoding/json"
	"fmt"

	"divisi/contextscope"
)

// EncodeEvents writes the events of one message: a JSON array. It travels as Press leaves it.
func EncodeEvents(events []contextscope.Event) ([]byte, error) {
	data, err := json.Marshal(events)
	if err != nil {
		return nil, fmt.Errorf("encode %d events: %w", len(events), err)
	}
	return data, nil
}

// DecodeEvents reads one message of the log; every event gets the message's position. An event of a newer schema than this
// program's is refused.
func DecodeEvents(data []byte, pos uint64) ([]contextscope.Event, error) {
	var events []contextscope.Event
	data, err := loosen(data)
	if err != nil {
		return nil, fmt.Errorf("read the log's message at %d: %w", pos, err)
	}
	if err := json.Unmarshal(data, &events); err != nil {
		return nil, fmt.Errorf("decode the log's message at %d: %w", pos, err)
	}
	for i := range events {
		events[i].Pos = pos
		if v := events[i].V; v > contextscope.EventVersion {
			return nil, fmt.Errorf("event %s at %d has version %d; this program reads up to %d",
				events[i].ID, pos, v, contextscope.EventVersion)
		}
	}
	return events, nil
}
