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

// origins has the origin of each part of each content.
func (st *state) origins() [][]Origin {
	known := map[*genai.Part]Origin{}
	for _, e := range slices.Backward(st.in.Events) {
		if e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			known[p] = Origin{Processor: history{}.Name(), Event: e.ID}
		}
	}
	maps.Copy(known, st.made)
	out := make([][]Origin, len(st.req.Contents))
	for i, c := range st.req.Contents {
		out[i] = make([]Origin, len(c.Parts))
		for n, p := range c.Parts {
			from, ok := known[p]
			switch {
			case i == 0 && n < st.settled:
				from = st.settledOrigin(n)
			case !ok: // a placeholder for what the history lacks
				from.Processor = history{}.Name()
			}
			out[i][n] = from
		}
	}
	return out
}

// settledOrigin is the origin of a part of the first content that precedes the history.
func (st *state) settledOrigin(n int) Origin {
	switch about := st.shared.about; {
	case n >= st.req.SharedParts:
		return Origin{Processor: brief{}.Name()}
	case n < len(about):
		return Origin{Processor: (*background)(nil).Name(), Event: about[n]}
	default:
		return Origin{Processor: (*background)(nil).Name()}
	}
}
