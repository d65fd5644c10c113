package compile

import (
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/content"
)

// history writes the agent's own events: selected, calls paired with their results, and otherwise word for word, thoughts
// and signatures on the very parts on which they came. What compactions stand for and what the role's rules leave out is
// told in lines of its own.
type history struct{}

// Name implements processor.
func (history) Name() string { return "history" }

// Process implements processor.
func (p history) Process(st *state) {
	t := st.own
	t.ready()
	bytes := t.bytes - t.base.bytes
	st.draft = t.draft
	st.trace(contextscope.Trace{
		Processor: p.Name(), What: fmt.Sprintf("%d of %d events of the session", len(t.ids), len(t.events)),
		Events: t.ids[:len(t.ids):len(t.ids)], Notes: t.notes[:len(t.notes):len(t.notes)],
		Parts: t.parts - t.base.parts, Tokens: content.TokensOf(bytes),
	})
	if line, found := t.horizon.trace(); found {
		st.trace(line)
	}
	if t.in.Role.Context.Last > 0 {
		st.trace(t.lastTrace())
	}
	for _, s := range t.sweep {
		st.trace(s.trace())
	}
}
