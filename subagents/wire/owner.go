package wire

import (
	"encoding/json"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
)

// Owner is the worker that has an attempt: the one whose delivery is the newest. The zero value is that of an attempt without
// events, which the first worker takes that appends to it. A client that leaves the fence out can append at any time: a program
// that reads a log asks Admit, and passes over what it refuses.
type Owner struct {
	Worker   string
	Delivery int
}

// maxLost bounds how many deliveries in a row leave no event: no worker can use the numbers up.
const maxLost = 1000

// Admit makes the worker of a newer delivery the owner. It refuses an event of an agent that another worker wrote.
func (o *Owner) Admit(e *contextscope.Event) error {
	if e.Agent == "" || e.Kind == contextscope.KindUnreadable {
		return nil
	}
	if o.Worker == "" {
		o.Worker = e.Worker
	}
	if e.Kind != contextscope.KindStarted {
		if e.Worker != o.Worker {
			return &ForeignError{fmt.Sprintf("worker %.40s wrote it, and the attempt is with worker %.40s", e.Worker, o.Worker)}
		}
		return nil
	}
	var s Started
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return err
	}
	if s.Delivery <= o.Delivery || s.Delivery > o.Delivery+maxLost {
		return &ForeignError{
			fmt.Sprintf("worker %.40s begins delivery %d of it, and the newest is %d", e.Worker, s.Delivery, o.Delivery),
		}
	}
	o.Worker, o.Delivery = e.Worker, s.Delivery
	return nil
}

// ForeignError is why an event does not count: it is of a worker that does not have the attempt, or not what a worker signed.
type ForeignError struct{ Why string }

func (e *ForeignError) Error() string { return e.Why }

// Disown makes the event that stands for one that Admit refused, for every view to show.
func Disown(e *contextscope.Event, why error) contextscope.Event {
	subject := bus.AttemptSubject(e.Run, e.Worker, e.Role, e.Task, e.Attempt)
	return Unread(bus.Message{Subject: subject, Pos: e.Pos, Time: e.Time}, *e, why)
}
