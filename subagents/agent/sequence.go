package agent

import "divisi/contextscope"

// sequence numbers a conversation that several attempts have carried on, and returns the highest number.
func sequence(events []contextscope.Event) (numbered []contextscope.Event, last int) {
	numbered = contextscope.Session(events).Numbered()
	for i := range numbered {
		last = max(last, numbered[i].Seq)
	}
	return numbered, last
}

// shifted returns the events with their numbers moved up, for an attempt that goes on with a conversation.
func shifted(events []contextscope.Event, offset int) []contextscope.Event {
	if offset == 0 {
		return events
	}
	out := make([]contextscope.Event, len(events))
	for i, e := range events {
		e.Seq += offset
		out[i] = e
	}
	return out
}
