package contextscope

import (
	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Input is what every request of one agent shares. It is read only.
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
	// Values are what the instruction's template can name.
	Values []Value
	// Slice is what the task inherits from upstream.
	Slice Slice
	// Guides are the instruction files of the target repository, the widest first.
	Guides []Guide
	// Brief is the task; a brief without a task's id is left out.
	Brief Brief
	// Events are the agent's own session so far, in order. The brief's own event in it is passed over.
	Events []Event
	// Tools are the declarations in any order, with ParametersJsonSchema as the tools give it.
	Tools []*genai.FunctionDeclaration
}

// Value is something that an instruction can name as {name} or, for an artifact's text, {artifact.name}.
type Value struct {
	// Name is the key without braces: goal, or artifact.report for an artifact's text.
	Name string
	Text string
	// Stable says that the value is the same for all agents of the role for the whole run. Others never enter the prefix:
	// they are written into the tail, and the instruction points there.
	Stable bool
}

// Guide is an instruction file of the target repository, such as AGENTS.md, with its imports resolved. It is data.
type Guide struct {
	Path string
	Text string
}

// Tail is what one request has beyond everything that stays: it comes last, so that it never costs the cached prefix.
type Tail struct {
	// Values are the changing values that the instruction names.
	Values []Value
	// Recall is memory found for this turn, best first.
	Recall []Recalled
	// Artifacts are handles of what the agent can load, oldest first.
	Artifacts []Listed
	// Loaded is what was asked for with load_artifact, for this one request.
	Loaded []Loaded
	// Reminders are the runtime's words for this turn: budget left, turn count.
	Reminders []string
}

// Recalled is one note of the memory, or the part of it that was found.
type Recalled struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// Listed is one artifact as the tail lists it.
type Listed struct {
	// Handle is what load_artifact takes.
	Handle string `json:"handle"`
	// What says in a few words what it is.
	What  string `json:"what,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Loaded is one artifact, or a part of it, as text.
type Loaded struct {
	Handle string `json:"handle"`
	// What says which part of the artifact this is, such as "lines 1-200 of 900".
	What string `json:"what,omitempty"`
	Text string `json:"text"`
}

// Request is one compiled model request. Its contents may be shared with events and other requests: read only, and valid
// until the view that made it is changed or compiled again.
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
	// PrefixDigest tells what every sibling of the role sends byte for byte, which is the instruction, the tools and the shared
	// parts, from that of others: their SHA-256 in hex. PrefixTokens is its calibrated estimate.
	PrefixDigest string `json:"prefix_digest,omitempty"`
	PrefixTokens int    `json:"prefix_tokens,omitempty"`
	// SharedParts is the number of parts of the first content that every sibling of the role sends byte for byte.
	SharedParts int `json:"shared_parts,omitempty"`
	// TailParts is the number of parts, at the end of the last content, that are this request's alone.
	TailParts int `json:"tail_parts,omitempty"`
	// Tokens is the calibrated estimate of the whole request.
	Tokens int `json:"tokens"`
	// Over is by how many tokens the request exceeds the window although everything that may go has gone; 0 when it fits.
	Over int `json:"over,omitempty"`
}
