package compile

import (
	"cmp"

	"divisi/contextscope"
	"divisi/contextscope/narrative"

	"google.golang.org/genai"
)

// processor is one step of the compiler. It reads the input, adds to the request and leaves at least one trace. It keeps
// no state between requests other than caches of what is immutable, and may be used by several goroutines at once.
type processor interface {
	Name() string
	Process(*state)
}

// Compiler turns an Input into a Request. It is safe for concurrent use; one compiler for a process lets siblings share what
// is the same for all of them.
type Compiler struct {
	processors []processor
}

// settled is how many of the processors, from the first, write what never changes for an agent: they run once for a view.
const settled = 4

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
		// Append-only, and the last of what stays: it joins its first user message to what the brief left.
		history{},
		// The tail begins: it is gone with the request, so it comes after all that stays. Memory first: it is the least sure to
		// matter, and a model reads the end of a prompt best.
		recall{},
		// What was asked for comes after what was not. It shares the fence with recall, which introduces it.
		artifacts{},
		// The last words before the answer: what is left of the budget bears on all of it.
		reminders{},
		// Needs the size of everything that was written, and can take from all of it but the settled part.
		fit{},
		// Says where the stable part ends: after fit, which decides what is sent.
		cache{},
	}}
}

// Compile makes one request. Any input compiles: what is broken is healed and noted in the trace. Who compiles again when
// events have come opens a View.
func (c *Compiler) Compile(in Input) contextscope.Request { return c.View(in).Compile(Tail{}) }

// state is a request in the making.
type state struct {
	in       *Input
	req      contextscope.Request
	narrator *narrative.Narrator
	// draft is the contents: until history, what background and brief write.
	draft draft
	// fixed is the size in bytes of what stands outside the contents, shared that of the shared parts.
	fixed  int
	shared shared
	// told and tail are what this request has beyond what stays: as it was given, and as it is written.
	told Tail
	tail tail
	// own is the agent's history.
	own *transcript
	// pointers are the changing values that the instruction names.
	pointers []string
	// made says where parts come from that were written for this request alone.
	made map[*genai.Part]Origin
}

func newState(in *Input) *state {
	return &state{in: in, narrator: narrative.New(cmp.Or(in.Narrative, in.Role.Narrative))}
}

// add appends a content to the settled part.
func (st *state) add(c *genai.Content) {
	st.draft.add(c)
	st.req.Contents = st.draft.contents
}

func (st *state) trace(t contextscope.Trace) { st.req.Trace = append(st.req.Trace, t) }

// bytes is the size of the request as it is.
func (st *state) bytes() int { return st.fixed + st.draft.bytes + st.tail.bytes(st.narrator) }
