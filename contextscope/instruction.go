package contextscope

import "google.golang.org/genai"

// instruction writes the role's static text. Nothing volatile ever goes here: it heads the cached prefix.
type instruction struct{}

// Name implements processor.
func (instruction) Name() string { return "instruction" }

// Process implements processor.
func (p instruction) Process(st *state) {
	text := st.in.Role.Instruction
	if text == "" {
		st.trace(Trace{Processor: p.Name(), What: "role " + st.in.Role.Name + " has no instruction"})
		return
	}
	st.req.System = genai.NewContentFromText(text, genai.RoleUser)
	what := "static text of role " + st.in.Role.Name
	if st.in.Role.Source != "" {
		what += " (" + st.in.Role.Source + ")"
	}
	st.trace(Trace{Processor: p.Name(), What: what, Parts: 1, Tokens: Tokens(st.req.System)})
}
