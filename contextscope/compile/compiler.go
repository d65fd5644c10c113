// Package compile makes the request of one model call. Its input is what the agent was given, its own events and the tail of
// this turn; its output is a Request, with a trace of what each of the ten processors did. The same input gives the same bytes.
// It never fails on a history, and never reads or writes anything.
package compile

import (
	"cmp"
	"maps"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"

	"google.golang.org/genai"
)

// processor is one step of the compiler. It reads the input, adds to the request and leaves at least one trace. It keeps
// no state between requests other than caches of what is immutable, and may be used by several goroutines at once.
type processor struct {
	name    string
	process func(*state)
}

// The names of the processors that parts come from.
const (
	nameBackground = "background"
	nameBrief      = "brief"
	nameHistory    = "history"
	nameRecall     = "recall"
	nameArtifacts  = "artifacts"
	nameReminders  = "reminders"
	nameFit        = "fit"
)

// Compiler turns an Input into a Request. It is safe for concurrent use; one compiler for a process lets siblings share what
// is the same for all of them.
type Compiler struct {
	processors []processor
}

// untrimmed is how many of the processors, from the first, write what a request has before its tail and before it is trimmed.
const untrimmed = 5

// NewCompiler returns the compiler with its processors in their order. The order is the order of the request's bytes,
// the most stable first, so that providers can cache the longest prefix; and it is the only place where it is decided.
func NewCompiler() *Compiler {
	return &Compiler{processors: []processor{
		// Static per role, and the first thing that a provider hashes: nothing volatile may come before it.
		{"instruction", instruction},
		// Sorted, hence the same for every agent of a role: still in the shared prefix.
		{"tools", tools},
		// The same for all siblings of one dispatch: after it the requests of siblings differ. It comes before the
		// brief also because it introduces the fence that the brief's quotes rely on.
		{nameBackground, (&background{}).write},
		// The agent's own task: fixes the first content, which history then only appends to.
		{nameBrief, brief},
		// Append-only, and the last of what stays: it joins its first user message to what the brief left.
		{nameHistory, history},
		// The tail begins: it is gone with the request, so it comes after all that stays. Memory first: it is the least sure to
		// matter, and a model reads the end of a prompt best.
		{nameRecall, recall},
		// What was asked for comes after what was not. It shares the fence with recall, which introduces it.
		{nameArtifacts, artifacts},
		// The last words before the answer: what is left of the budget bears on all of it.
		{nameReminders, reminders},
		// Needs the size of everything that was written, and can take from all of it but the settled part.
		{nameFit, fit},
		// Says where the stable part ends: after fit, which decides what is sent.
		{"cache", cache},
	}}
}

// Compile makes one request. Any history compiles: what is broken is healed and noted in the trace.
func (c *Compiler) Compile(in Input) contextscope.Request { return c.compile(&in).req }

// Explain makes the same request, and returns the origin of each part of each of its contents.
func (c *Compiler) Explain(in Input) (contextscope.Request, [][]Origin) {
	st := c.compile(&in)
	return st.req, st.origins()
}

// Tokens is the calibrated estimate of the request without its tail, before anything of it is trimmed to fit.
func (c *Compiler) Tokens(in Input) int {
	st := newState(&in)
	for _, p := range c.processors[:untrimmed] {
		st.run(p)
	}
	return st.ratio.of(st.bytes())
}

func (c *Compiler) compile(in *Input) *state {
	st := newState(in)
	for _, p := range c.processors {
		st.run(p)
	}
	st.join()
	return st
}

// state is a request in the making.
type state struct {
	in  *Input
	req contextscope.Request
	// processor is the name of the one that runs.
	processor string
	narrator  *narrative.Narrator
	// draft is the contents: until history, what background and brief write.
	draft draft
	// fixed is the size in bytes of what stands outside the contents, shared that of the shared parts.
	fixed  int
	shared shared
	// settled is the number of parts before the history.
	settled int
	// ratio estimates tokens.
	ratio ratio
	tail  tail
	// own is the agent's history.
	own *transcript
	// pointers are the changing values that the instruction names.
	pointers []string
	// made says where parts come from that were written for this request alone.
	made map[*genai.Part]Origin
}

func newState(in *Input) *state {
	return &state{
		in: in, narrator: narrative.New(cmp.Or(in.Narrative, in.Role.Narrative)), ratio: ratioOf(in.Events),
		made: map[*genai.Part]Origin{},
	}
}

// add appends a content to the settled part.
func (st *state) add(c *genai.Content) {
	st.draft.add(c)
	st.req.Contents = st.draft.contents
}

func (st *state) run(p processor) {
	st.processor = p.name
	p.process(st)
}

// trace adds a line, of the processor that runs unless it names a step of it.
func (st *state) trace(t contextscope.Trace) {
	t.Processor = cmp.Or(t.Processor, st.processor)
	st.req.Trace = append(st.req.Trace, t)
}

// bytes is the size of the request as it is.
func (st *state) bytes() int { return st.fixed + st.draft.bytes + st.tail.bytes(st.narrator) }

// join puts the tail on a copy of the last content.
func (st *state) join() {
	contents, tail := st.draft.contents, st.tail.pieces(st.narrator)
	n := len(contents)
	var parts []*genai.Part
	switch {
	case len(tail) == 0:
	case n > 0 && contents[n-1].Role == genai.RoleUser:
		parts = slices.Clone(contents[n-1].Parts)
		contents = contents[:n-1]
	default:
		tail = slices.Insert(tail, 0, piece{nameReminders, &genai.Part{Text: content.Opening}})
	}
	for _, p := range tail {
		parts = append(parts, p.part)
		st.made[p.part] = Origin{Processor: p.processor}
	}
	if len(tail) > 0 {
		contents = append(contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
	}
	st.req.Contents, st.req.TailParts = contents, len(tail)
	if contents == nil {
		st.req.Contents = []*genai.Content{}
	}
}

// draft is the contents of a request in the making. The model's interface wants roles to alternate and user to begin.
type draft struct {
	contents []*genai.Content
	// own reports that the last content was made here and may grow; others belong to events.
	own bool
	// bytes and parts are the size of it all, kept running.
	bytes int
	parts int
}

// add appends a content. Neighbours of one role are joined: their parts stay as they are, side by side.
func (d *draft) add(c *genai.Content) {
	if len(d.contents) == 0 && c.Role != genai.RoleUser {
		d.push(genai.NewContentFromText(content.Opening, genai.RoleUser))
	}
	n := len(d.contents)
	if n == 0 || d.contents[n-1].Role != c.Role {
		d.push(c)
		return
	}
	if !d.own {
		last := d.contents[n-1]
		parts := make([]*genai.Part, 0, len(last.Parts)+2*len(c.Parts))
		d.contents[n-1] = &genai.Content{Role: last.Role, Parts: append(parts, last.Parts...)}
		d.own = true
	}
	last := d.contents[n-1]
	last.Parts = append(last.Parts, c.Parts...)
	d.count(c, 1)
}

func (d *draft) push(c *genai.Content) {
	d.contents, d.own = append(d.contents, c), false
	d.count(c, 1)
}

// replace puts another content in a place.
func (d *draft) replace(i int, c *genai.Content) {
	d.count(d.contents[i], -1)
	d.contents[i] = c
	d.count(c, 1)
}

func (d *draft) count(c *genai.Content, sign int) {
	d.bytes += sign * content.Bytes(c.Parts)
	d.parts += sign * len(c.Parts)
}

// Origin is where a part of a request comes from.
type Origin struct {
	// Processor is the name of the processor that wrote the part.
	Processor string `json:"processor"`
	// Event is the id of the event whose part it is, or that it reports; empty where it is no event's.
	Event string `json:"event,omitempty"`
}

// origins has the origin of each part of each content.
func (st *state) origins() [][]Origin {
	known := map[*genai.Part]Origin{}
	for _, e := range slices.Backward(st.in.Events) {
		if e.Content == nil {
			continue
		}
		for _, p := range e.Content.Parts {
			known[p] = Origin{Processor: nameHistory, Event: e.ID}
		}
	}
	maps.Copy(known, st.made)
	out := make([][]Origin, len(st.req.Contents))
	for i, c := range st.req.Contents {
		out[i] = make([]Origin, len(c.Parts))
		for n, p := range c.Parts {
			from, ok := known[p]
			switch {
			case i == 0 && n < st.settled:
				from = st.settledOrigin(n)
			case !ok: // a placeholder for what the history lacks
				from.Processor = nameHistory
			}
			out[i][n] = from
		}
	}
	return out
}

// settledOrigin is the origin of a part of the first content that precedes the history.
func (st *state) settledOrigin(n int) Origin {
	switch about := st.shared.about; {
	case n >= st.req.SharedParts:
		return Origin{Processor: nameBrief}
	case n < len(about):
		return Origin{Processor: nameBackground, Event: about[n]}
	default:
		return Origin{Processor: nameBackground}
	}
}
