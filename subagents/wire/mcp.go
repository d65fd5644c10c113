package wire

// ReasonTools is the reason of a control event without words to the agent: it keeps how the tools of MCP servers were described
// to the model, which servers may do otherwise another day.
const ReasonTools = "tools"

// ServerTools is the data of a control event with reason tools.
type ServerTools struct {
	Reason string `json:"reason"`
	// Object holds the declarations, as genai marshals them.
	Object string `json:"object"`
}
