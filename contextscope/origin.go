package contextscope

// Origin is where a part of a request comes from.
type Origin struct {
	// Processor is the name of the processor that wrote the part.
	Processor string `json:"processor"`
	// Event is the id of the event whose part it is, or that it tells of; empty where it is no event's.
	Event string `json:"event,omitempty"`
}

// Origins says of each part of each content of the newest compiled request where it comes from. It is made for people, at
// the cost of the whole request.
func (v *View) Origins() [][]Origin { return nil }
