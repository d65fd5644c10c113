package tool

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	notes "divisi/contextscope/memory"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

//go:embed load_memory.md
var loadMemoryText string

const (
	// memoryHits is how many notes are shown, memoryChars how many characters of them together.
	memoryHits  = 8
	memoryChars = 6000
)

// MemoryReader searches what outlived earlier runs.
type MemoryReader interface {
	// Search returns the notes that fit the query best, the best first, at most limit. Nothing in the query is an operator. It
	// is called from several goroutines.
	Search(ctx context.Context, query string, limit int) ([]notes.Hit, error)
}

// loadMemory searches a memory, which may be nil.
type loadMemory struct{ memory MemoryReader }

// Declaration is what the model is told.
func (t *loadMemory) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolLoadMemory, Description: loadMemoryText,
		ParametersJsonSchema: object(properties{
			"query": property("string", "A few words or identifiers, such as: parse http header."),
		}, "query"),
	}
}

// Effect is Reads: it only looks.
func (t *loadMemory) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *loadMemory) Doing(call Call) string {
	return "looking into the memory for " + call.text("query")
}

// Run carries out one call.
func (t *loadMemory) Run(ctx context.Context, call Call) Result {
	if t.memory == nil {
		return Failed("no memory is kept here: go on without it")
	}
	query := call.text("query")
	hits, err := t.memory.Search(ctx, query, memoryHits)
	if err != nil {
		return Failed("the memory cannot be searched: %v. Go on without it", err)
	}
	if len(hits) == 0 {
		return Text(fmt.Sprintf("Nothing in the memory fits %q. Try other words once, or go on without.", short(query, 200)))
	}
	return Text(hitList(hits))
}

// hitList shows whole notes while they fit; the rest is counted.
func hitList(hits []notes.Hit) string {
	var b strings.Builder
	size := 0
	for i, h := range hits {
		text := fmt.Sprintf("## %s\n(note %s)\n\n%s\n\n", printable(h.Title), printable(h.Name), h.Text)
		if i > 0 && size+len([]rune(text)) > memoryChars {
			fmt.Fprintf(&b, "(%d more notes fit less well.)\n", len(hits)-i)
			break
		}
		text = short(text, memoryChars)
		size += len([]rune(text))
		b.WriteString(text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
