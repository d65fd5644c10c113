package compile

import (
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/content"
)

// recall writes what memory holds on the turn's matter, best first, as data. A cap keeps it small: what the agent did not
// ask for must not crowd out what was.
type recall struct{}

// Name implements processor.
func (recall) Name() string { return "recall" }

// Process implements processor.
func (p recall) Process(st *state) {
	room := st.in.Role.Context.WithDefaults().RecallTokens * content.BytesPerToken
	t := contextscope.Trace{Processor: p.Name()}
	bytes := 0
	for i, note := range st.in.Tail.Recall {
		title := "Note " + st.narrator.Name(note.Name)
		if note.Title != "" {
			title += " (" + st.narrator.Name(note.Title) + ")"
		}
		part := st.narrator.Quoted(content.Valid(title), content.Valid(note.Text))
		if bytes+len(part.Text) > room {
			t.Notes = append(t.Notes, fmt.Sprintf("the last %d notes were left out: recall may have %d tokens",
				len(st.in.Tail.Recall)-i, room/content.BytesPerToken))
			break
		}
		bytes += len(part.Text)
		st.tail.recalled = append(st.tail.recalled, part)
	}
	t.What = fmt.Sprintf("%d of %d notes found", len(st.tail.recalled), len(st.in.Tail.Recall))
	t.Parts, t.Tokens = len(st.tail.recalled), content.TokensOf(bytes)
	st.trace(t)
}
