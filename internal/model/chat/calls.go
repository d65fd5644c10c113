package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// callDelta is a piece of a call. Services differ in which fields the first piece has, and in whether the others repeat them.
type callDelta struct {
	Index    *int        `json:"index"`
	ID       string      `json:"id"`
	Function calledDelta `json:"function"`
}

type calledDelta struct {
	Name      string `json:"name"`
	Arguments pieces `json:"arguments"`
}

// pieces is a piece of JSON in a string; some services send the arguments as the object that they are.
type pieces string

// UnmarshalJSON implements json.Unmarshaler.
func (p *pieces) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		*p = pieces(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(p))
}

// calls puts calls together from their pieces. The zero value is ready.
type calls struct{ all []*pending }

// pending is a call under way.
type pending struct {
	index    *int
	id, name string
	args     strings.Builder
}

func (c *calls) add(d callDelta) {
	p := c.find(d)
	if p == nil || p.ended(d) {
		p = &pending{index: d.Index}
		c.all = append(c.all, p)
	}
	if p.id == "" {
		p.id = d.ID
	}
	if p.name == "" {
		p.name = d.Function.Name
	}
	p.args.WriteString(string(d.Function.Arguments))
}

// find returns the newest call of the piece's index; the newest of all for a piece without one.
func (c *calls) find(d callDelta) *pending {
	for _, p := range slices.Backward(c.all) {
		if d.Index == nil || p.index != nil && *p.index == *d.Index {
			return p
		}
	}
	return nil
}

// ended reports whether the piece begins another call: there are services that give all calls one index, or none.
func (p *pending) ended(d callDelta) bool {
	switch {
	case d.Function.Name == "" || p.name == "":
		return false
	case d.ID != "" && p.id != "":
		return d.ID != p.id
	}
	return p.args.Len() > 0 && json.Valid([]byte(p.args.String()))
}

func (c *calls) size() int {
	n := 0
	for _, p := range c.all {
		n += len(p.name) + p.args.Len()
	}
	return n
}

// parts are the calls once the stream has ended; or bad says why one of them cannot be used. A call without an id, or with that
// of another, comes without one.
func (c *calls) parts() (parts []*genai.Part, bad string) {
	used := map[string]bool{}
	for _, p := range c.all {
		args, err := p.arguments()
		switch {
		case p.name == "":
			return nil, "a call has no name"
		case err != nil:
			return nil, fmt.Sprintf("the arguments of %s are no JSON object: %v", p.name, err)
		case used[p.id]:
			p.id = ""
		}
		used[p.id] = true
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.id, Name: p.name, Args: args}})
	}
	return parts, ""
}

func (p *pending) arguments() (map[string]any, error) {
	args := map[string]any{}
	raw := strings.TrimSpace(p.args.String())
	if raw == "" || raw == "null" {
		return args, nil
	}
	err := json.Unmarshal([]byte(raw), &args)
	return args, err
}
