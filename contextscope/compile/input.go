package compile

import (
	"divisi/contextscope"
	"divisi/contextscope/slice"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Input is the input of a request. It is read only. All but Events and Tail is the same for every request of one agent.
type Input struct {
	// Agent is the identity of the agent: task/attempt.
	Agent string
	Role  spec.Role
	// Include none limits the history to the current turn; anything else takes the whole session.
	Include spec.IncludeContents
	// Narrative is NarrativePlain or NarrativeFenced; empty means the role's, and fenced where the role says nothing.
	Narrative string
	// Window is how many tokens a request may have; 0 means no bound.
	Window int
	// Values are the names that an instruction's template can use.
	Values []Value
	// Slice is the inheritance of the task from upstream.
	Slice slice.Slice
	// Guides are the instruction files of the target repository, the widest first.
	Guides []contextscope.Guide
	// Brief is the task; a brief without a task's id is left out.
	Brief Brief
	// Events are the agent's own session so far, in order. The brief's own event in it is passed over.
	Events []contextscope.Event
	// Tools are the declarations in any order, with ParametersJsonSchema as the tools give it.
	Tools []*genai.FunctionDeclaration
	// Tail belongs to this request alone.
	Tail Tail
}

// Value is something that an instruction can name as {name} or, for an artifact's text, {artifact.name}.
type Value struct {
	// Name is the key without braces: goal, or artifact.report for an artifact's text.
	Name string
	Text string
	// Stable reports that the value is the same for all agents of the role for the whole run. Others never enter the prefix:
	// they are written into the tail, and the instruction points there.
	Stable bool
}

// Tail belongs to one request, beyond everything that stays: it comes last, so that it never costs the cached prefix.
type Tail struct {
	// Values are the changing values that the instruction names.
	Values []Value
	// Recall is memory found for this turn, best first.
	Recall []contextscope.Recalled
	// Artifacts are handles of what the agent can load, oldest first.
	Artifacts []contextscope.Listed
	// Loaded was requested with load_artifact, for this one request.
	Loaded []Loaded
	// Reminders are the runtime's words for this turn: budget left, turn count.
	Reminders []string
}

// Loaded is one artifact, or a part of it, as text.
type Loaded struct {
	Handle string `json:"handle"`
	// What reports which part of the artifact this is, such as "lines 1-200 of 900".
	What string `json:"what,omitempty"`
	Text string `json:"text"`
}
