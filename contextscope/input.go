package contextscope

import (
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Input is everything that one model request is compiled from. It is read only.
type Input struct {
	// Agent is the identity of the agent: task/attempt.
	Agent string
	Role  spec.Role
	// Include none limits the history to the current turn; anything else takes the whole session.
	Include spec.IncludeContents
	// Narrative is NarrativePlain or NarrativeFenced; empty means the role's, and fenced where the role says nothing.
	Narrative string
	// Slice is what the task inherits from upstream.
	Slice Slice
	// Brief is the task; a brief without a task's id is left out.
	Brief Brief
	// Events are the agent's own session, in order. The brief's own event in it is passed over.
	Events []Event
	// Tools are the declarations in any order, with ParametersJsonSchema as the tools give it.
	Tools []*genai.FunctionDeclaration
}

// Request is one compiled model request. Its contents may be shared with events and other requests: read only.
type Request struct {
	// System is the role's static text; nil when the role has none.
	System *genai.Content `json:"system,omitempty"`
	// Tools is at most one tool with all declarations, sorted by name.
	Tools []*genai.Tool `json:"tools,omitempty"`
	// Contents begin with user, alternate in role, and answer every call once, in call order, in the next content.
	Contents []*genai.Content `json:"contents"`
	Trace    []Trace          `json:"trace"`
	// Prefix is the number of contents, from the first, that background and brief make up. What this agent sends
	// later begins with them.
	Prefix int `json:"prefix"`
	// SharedParts is the number of parts of the first content that every sibling of the role sends byte for byte.
	SharedParts int `json:"shared_parts,omitempty"`
}
