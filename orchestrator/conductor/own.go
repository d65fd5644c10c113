package conductor

import (
	"time"

	"divisi/orchestrator/run"
)

// spend begins to count time; the returned function adds it.
func spend(sum *time.Duration) (end func()) {
	begin := time.Now()
	return func() { *sum += time.Since(begin) }
}

// tellOwn puts what the conductor did itself since it told it last into the data of an event that has room for it.
func (c *Conductor) tellOwn(data any) any {
	own := c.own
	switch d := data.(type) {
	case run.TaskData:
		d.Own, data = own, d
	case run.LandingData:
		d.Own, data = own, d
	case run.Data:
		d.Own, data = own, d
	default:
		return data
	}
	c.own = run.Own{}
	return data
}
