package conductor

import (
	"encoding/json"
	"fmt"

	"divisi/contextscope"
)

// Author of the conductor's events.
const authorConductor = "conductor"

func (c *Conductor) event(kind contextscope.Kind, task string, data any) (contextscope.Event, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return contextscope.Event{}, fmt.Errorf("encode a %s event: %w", kind, err)
	}
	e := contextscope.Event{
		V: contextscope.EventVersion, ID: c.cfg.NewID(), Run: c.cfg.Run, Task: task, Time: c.cfg.Clock(), Kind: kind,
		Author: authorConductor, Data: raw,
	}
	if t := c.st.Tasks[task]; t != nil {
		e.Attempt, e.Role = t.Attempt, t.Task.Role
	}
	return e, nil
}
