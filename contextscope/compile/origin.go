package compile

import (
	"maps"
	"slices"

	"google.golang.org/genai"
)

// Origin is where a part of a request comes from.
type Origin struct {
	// Processor is the name of the processor that wrote the part.
	Processor string `json:"processor"`
	// Event is the id of the event whose part it is, or that it tells of; empty where it is no event's.
	Event string `json:"event,omitempty"`
}

// Origins says of each part of each content of the newest compiled request where it comes from. It is made for people, at
// the cost of the whole request, and like the request it holds until the view is changed.
func (v *View) Origins() [][]Origin {
	known := v.origins()
	out := make([][]Origin, len(v.newest.Contents))
	for i, c := range v.newest.Contents {
		out[i] = make([]Origin, len(c.Parts))
		for n, p := range c.Parts {
			from, ok := known[p]
			if !ok {
				// What no event and no other step wrote stands in for something that the history lacks.
				from.Processor = history{}.Name()
			}
			out[i][n] = from
		}
	}
	return out
}

// origins knows every part that is not made up by the history.
func (v *View) origins() map[*genai.Part]Origin {
	known := map[*genai.Part]Origin{}
	for _, e := range slices.Backward(v.own.events) {
		if e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			known[p] = Origin{Processor: history{}.Name(), Event: e.ID}
		}
	}
	for _, c := range v.own.base.contents {
		for n, p := range c.Parts {
			known[p] = v.settled(n)
		}
	}
	maps.Copy(known, v.own.made)
	maps.Copy(known, v.made)
	return known
}

// settled is where a part of the first content comes from that is there before the history.
func (v *View) settled(n int) Origin {
	switch about := v.prefix.shared.about; {
	case n >= v.prefix.req.SharedParts:
		return Origin{Processor: brief{}.Name()}
	case n < len(about):
		return Origin{Processor: (*background)(nil).Name(), Event: about[n]}
	default:
		return Origin{Processor: (*background)(nil).Name()}
	}
}
