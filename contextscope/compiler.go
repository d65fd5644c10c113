package contextscope

import (
	"cmp"

	"google.golang.org/genai"
)

// processor is one step of the compiler. It reads the input, adds to the request and leaves at least one trace. It keeps
// no state between requests other than caches of what is immutable, and may be used by several goroutines at once.
type processor interface {
	Name() string
	Process(*state)
}

// Compiler turns an Input into a Request. It is safe for concurrent use.
type Compiler struct {
	processors []processor
}

// NewCompiler returns the compiler with its processors in their order. The order is the order of the request's bytes,
// the most stable first, so that providers can cache the longest prefix; and it is the only place where it is decided.
func NewCompiler() *Compiler {
	return &Compiler{processors: []processor{
		// Static per role, and the first thing that a provider hashes: nothing volatile may come before it.
		instruction{},
		// Sorted, hence the same for every agent of a role: still in the shared prefix.
		tools{},
		// The same for all siblings of one dispatch: after it the requests of siblings differ. It comes before the
		// brief also because it introduces the fence that the brief's quotes rely on.
		&background{},
		// The agent's own task: fixes the first content, which history then only appends to.
		brief{},
		// Append-only; last, because it joins its first user message to what the brief left.
		history{},
	}}
}

// Compile makes the request. Any input compiles: what is broken is healed and noted in the trace.
func (c *Compiler) Compile(in Input) Request {
	st := &state{in: &in, narrator: newNarrator(cmp.Or(in.Narrative, in.Role.Narrative))}
	for _, p := range c.processors {
		p.Process(st)
	}
	if st.req.Contents == nil {
		st.req.Contents = []*genai.Content{}
	}
	return st.req
}

// state is a request in the making.
type state struct {
	in       *Input
	req      Request
	narrator *narrator
	// own says that the last content was made here and may grow; others belong to events.
	own bool
}

// add appends a content. The model's interface wants roles to alternate, so neighbours of one role are joined: their
// parts stay as they are, side by side.
func (st *state) add(c *genai.Content) {
	n := len(st.req.Contents)
	if n == 0 && c.Role != genai.RoleUser {
		st.req.Contents = append(st.req.Contents, genai.NewContentFromText(opening, genai.RoleUser))
		n++
	}
	if n == 0 || st.req.Contents[n-1].Role != c.Role {
		st.req.Contents, st.own = append(st.req.Contents, c), false
		return
	}
	if !st.own {
		last := st.req.Contents[n-1]
		parts := make([]*genai.Part, 0, 2*(len(last.Parts)+len(c.Parts)))
		st.req.Contents[n-1] = &genai.Content{Role: last.Role, Parts: append(parts, last.Parts...)}
		st.own = true
	}
	st.req.Contents[n-1].Parts = append(st.req.Contents[n-1].Parts, c.Parts...)
}

// opening stands in for a first user message where a history begins with the model: the interface wants one.
const opening = "Go on with your task."

func (st *state) trace(t Trace) { st.req.Trace = append(st.req.Trace, t) }
