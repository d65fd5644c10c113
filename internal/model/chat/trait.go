package chat

import (
	"strings"

	"divisi/internal/model"
)

// trait is how a service differs from what most of them take. Services are told apart by what they say, never by their names.
type trait uint32

const (
	// completionTokens: the limit of an answer is max_completion_tokens, and max_tokens is refused.
	completionTokens trait = 1 << iota
	// wantsThoughts: an answer's thoughts are to come back with its calls.
	wantsThoughts
	// noUsage: the usage of a stream cannot be asked for.
	noUsage
	// noToolChoice: which tool is called cannot be said.
	noToolChoice
)

// traits are the words of a refusal that tell of a trait.
var traits = []struct {
	word  string
	trait trait
}{
	{"max_completion_tokens", completionTokens},
	{"reasoning_content", wantsThoughts},
	{"stream_options", noUsage},
	{"tool_choice", noToolChoice},
}

// learn says whether a refusal told of a trait that was not known when the request was made.
func (c *Client) learn(known trait, e *model.Error) bool {
	if e.Class != model.Invalid || e.Status == 0 {
		return false
	}
	for _, t := range traits {
		if known&t.trait == 0 && strings.Contains(e.Message, t.word) {
			c.learnt.Or(uint32(t.trait))
			return true
		}
	}
	return false
}
