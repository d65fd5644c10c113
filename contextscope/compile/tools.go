package compile

import (
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// tools declares what the agent can call, sorted by name so that the order in which tools were set up never shows.
type tools struct{}

// Name implements processor.
func (tools) Name() string { return "tools" }

// Process implements processor.
func (p tools) Process(st *state) {
	var notes []string
	sorted := slices.DeleteFunc(slices.Clone(st.in.Tools), func(d *genai.FunctionDeclaration) bool { return d == nil })
	slices.SortStableFunc(sorted, func(a, b *genai.FunctionDeclaration) int { return strings.Compare(a.Name, b.Name) })
	sorted = slices.CompactFunc(sorted, func(a, b *genai.FunctionDeclaration) bool {
		if a.Name == b.Name {
			notes = append(notes, fmt.Sprintf("%s is declared twice: the first declaration holds", a.Name))
		}
		return a.Name == b.Name
	})
	if len(sorted) == 0 {
		st.trace(contextscope.Trace{Processor: p.Name(), What: "no tools"})
		return
	}
	st.req.Tools = []*genai.Tool{{FunctionDeclarations: sorted}}
	names, size := make([]string, len(sorted)), toolBytes(sorted)
	for i, d := range sorted {
		names[i] = d.Name
	}
	st.fixed += size
	st.trace(contextscope.Trace{
		Processor: p.Name(), What: strings.Join(names, ", "), Parts: len(sorted), Tokens: content.TokensOf(size), Notes: notes,
	})
}
