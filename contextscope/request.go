package contextscope

import (
	"slices"

	"google.golang.org/genai"
)

// Request is one compiled model request. Its contents may be shared with events and other requests: read only, and valid
// for good.
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
	// PrefixDigest reports what every sibling of the role sends byte for byte, which is the instruction, the tools and the shared
	// parts, from that of others: their SHA-256 in hex. PrefixTokens is its calibrated estimate.
	PrefixDigest string `json:"prefix_digest,omitempty"`
	PrefixTokens int    `json:"prefix_tokens,omitempty"`
	// SharedParts is the number of parts of the first content that every sibling of the role sends byte for byte.
	SharedParts int `json:"shared_parts,omitempty"`
	// TailParts is the number of parts, at the end of the last content, that are this request's alone.
	TailParts int `json:"tail_parts,omitempty"`
	// Bytes is the size of the whole request, and Tokens its calibrated estimate.
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
	// Over is by how many tokens the request exceeds the window although everything that may go has gone; 0 when it fits.
	Over int `json:"over,omitempty"`
}

// Guide is an instruction file of the target repository, such as AGENTS.md, with its imports resolved. It is data.
type Guide struct {
	Path string
	Text string
}

// Recalled is one note of the memory, or the part of it that was found.
type Recalled struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// Listed is one artifact as the tail lists it.
type Listed struct {
	// Handle is an argument of load_artifact.
	Handle string `json:"handle"`
	// What says in a few words what it is.
	What  string `json:"what,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Name is the one that the agent saved it under; empty for an output of a tool.
	Name string `json:"name,omitempty"`
}

// Saved adds those of more that have a name to a list of saved artifacts, the newest last. A name that is saved again replaces.
func Saved(list []Listed, more ...Listed) []Listed {
	for _, l := range more {
		if l.Name != "" {
			list = append(slices.DeleteFunc(slices.Clone(list), func(had Listed) bool { return had.Name == l.Name }), l)
		}
	}
	return list
}

// Artifact is one artifact of an earlier task, bounded for a brief.
type Artifact struct {
	Name   string `json:"name"`
	Handle string `json:"handle"`
	// Text is its beginning, at most all of it; empty for what is no text.
	Text  string `json:"text,omitempty"`
	Bytes int    `json:"bytes"`
}

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
	// Notes report what was left out, healed or made up, one line each.
	Notes []string `json:"notes,omitempty"`
}
