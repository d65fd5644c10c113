package subagents

import "divisi/contextscope"

// sequence numbers the events of one conversation that several attempts have carried on, so that a number names one event in
// all of it. Each attempt's own numbers count from 1 and go on from the last of the attempt before; what an attempt skipped
// stays a gap. It returns the highest number.
func sequence(events []contextscope.Event) (numbered []contextscope.Event, last int) {
	numbered = make([]contextscope.Event, len(events))
	offset, attempt := 0, 0
	for i, e := range events {
		if e.Attempt != attempt {
			offset, attempt = last, e.Attempt
		}
		e.Seq += offset
		numbered[i], last = e, max(last, e.Seq)
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
