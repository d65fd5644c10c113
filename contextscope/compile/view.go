package compile

import (
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// View is the compiled context of one agent. It grows with the agent's log: an immutable event needs no second look, so a
// request costs what was appended since the last one. It belongs to one goroutine.
type View struct {
	compiler *Compiler
	in       Input
	// prefix is the request as the settled processors leave it.
	prefix state
	own    *transcript
	// covered is the last content, in whose place the newest request has it with its tail.
	covered *genai.Content
	// newest is the newest request, made what was written for it alone.
	newest contextscope.Request
	made   map[*genai.Part]Origin
}

// View opens the compiled context of an agent; in.Events are its session so far.
func (c *Compiler) View(in Input) *View {
	v := &View{compiler: c, in: in}
	v.in.Events = nil
	st := newState(&v.in)
	for _, p := range c.processors[:settled] {
		p.Process(st)
	}
	v.prefix = *st
	v.own = newTranscript(&v.in, st.draft, st.fixed)
	v.own.append(in.Events...)
	return v
}

// Append adds events to the session, in order. Their contents are shared, and must not change any more.
func (v *View) Append(events ...contextscope.Event) {
	v.uncover()
	v.own.append(events...)
}

// Compile makes the request for the session so far. The same session and tail give the same bytes, however the events came
// in. Any history compiles: what is broken is healed and noted in the trace.
func (v *View) Compile(tail Tail) contextscope.Request {
	v.uncover()
	st, narrator := v.prefix, *v.prefix.narrator
	st.narrator, st.told, st.own, st.made = &narrator, tail, v.own, map[*genai.Part]Origin{}
	st.req.Trace = append(make([]contextscope.Trace, 0, 2*len(v.compiler.processors)), st.req.Trace...)
	for _, p := range v.compiler.processors[settled:] {
		p.Process(&st)
	}
	if n := len(v.own.contents); n > 0 {
		v.covered = v.own.contents[n-1]
	}
	st.join()
	v.newest, v.made = st.req, st.made
	return st.req
}

// uncover puts the last content back in its place.
func (v *View) uncover() {
	if v.covered != nil {
		v.own.contents[len(v.own.contents)-1], v.covered = v.covered, nil
	}
}

// Tokens is the calibrated estimate of a request with an empty tail, before anything of it is trimmed to fit.
func (v *View) Tokens() int {
	v.uncover()
	v.own.ready()
	return v.own.usage.ratio.of(v.own.size())
}

// join puts the tail on the last content, which is the view's no more while the request is used: the slot is shared, the
// content is a copy.
func (st *state) join() {
	contents, tail := st.draft.contents, st.tail.pieces(st.narrator)
	n := len(contents)
	var parts []*genai.Part
	switch {
	case len(tail) == 0:
	case n > 0 && contents[n-1].Role == genai.RoleUser:
		parts = contents[n-1].Parts[:len(contents[n-1].Parts):len(contents[n-1].Parts)]
		contents = contents[:n-1]
	default:
		tail = slices.Insert(tail, 0, piece{reminders{}.Name(), &genai.Part{Text: content.Opening}})
	}
	for _, p := range tail {
		parts = append(parts, p.part)
		st.made[p.part] = Origin{Processor: p.processor}
	}
	if len(tail) > 0 {
		contents = append(contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
	}
	st.req.Contents, st.req.TailParts = slices.Clip(contents), len(tail)
	if contents == nil {
		st.req.Contents = []*genai.Content{}
	}
}
