package contextscope

// View is the compiled context of one agent. It grows with the agent's log: an immutable event needs no second look, so a
// request costs what was appended since the last one. It belongs to one goroutine.
type View struct {
	compiler *Compiler
	in       Input
}

// View opens the compiled context of an agent; in.Events are its session so far.
func (c *Compiler) View(in Input) *View {
	in.Events = in.Events[:len(in.Events):len(in.Events)]
	return &View{compiler: c, in: in}
}

// Append adds events to the session, in order. Their contents are shared, and must not change any more.
func (v *View) Append(events ...Event) { v.in.Events = append(v.in.Events, events...) }

// Compile makes the request for the session so far. The same session and tail give the same bytes, however the events came
// in. Any history compiles: what is broken is healed and noted in the trace.
func (v *View) Compile(_ Tail) Request { return v.compiler.Compile(v.in) }

// Tokens is the calibrated estimate of a request with an empty tail.
func (v *View) Tokens() int { return v.Compile(Tail{}).Tokens }
