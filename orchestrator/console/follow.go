package console

import (
	"encoding/json"
	"fmt"
	"iter"

	"divisi/contextscope"
)

// Follow shows the events of a run, each one line of JSON, until the sequence ends or the output fails. Those that were followed
// before are passed over. It closes nothing.
func Follow(events iter.Seq2[json.RawMessage, error], c *Console) error {
	from := c.at()
	for line, err := range events {
		var e contextscope.Event
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return fmt.Errorf("follow the run's log: %w", err)
		}
		if e.Pos > from || from == 0 {
			c.Handle([]contextscope.Event{e})
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Live reports whether the console has a part that it redraws.
func (c *Console) Live() bool { return c.live != nil }
