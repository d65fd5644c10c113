package contextscope

// Trace is one step of a compilation: what a processor put into the request and why, or what it left out.
type Trace struct {
	// Processor is the name of the processor, or of the step of it.
	Processor string `json:"processor"`
	// What says in a few words what was done.
	What string `json:"what"`
	// Events are the ids of the events concerned, or their indexes in a session given as JSON.
	Events []string `json:"events,omitempty"`
	// Parts and Tokens are the size of what was added; tokens are estimated (bytes/4).
	Parts  int `json:"parts,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Notes say what was left out, healed or made up, one line each.
	Notes []string `json:"notes,omitempty"`
}
