package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	notes "divisi/contextscope/memory"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

//go:embed save_memory.md
var saveMemoryText string

// MemoryProposer keeps notes for a person to decide about.
type MemoryProposer interface {
	// Propose returns the proposal's id; the same note always has the same. The error wraps memory.ErrRefused when the note is
	// at fault, and then says what to change. It is called from several goroutines.
	Propose(ctx context.Context, n notes.Note) (id string, err error)
}

// saveMemory proposes to a memory, which may be nil, in the name of a source: run/task.
type saveMemory struct {
	memory MemoryProposer
	source string
}

// Declaration is what the model is told.
func (t *saveMemory) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolSaveMemory, Description: saveMemoryText,
		ParametersJsonSchema: object(properties{
			"title": property("string", "What the note says, in one line."),
			"text":  property("string", "The note, as Markdown: what is so, and how it is known."),
			"tags":  textList("A few words to find it by that are not in title and text."),
			"paths": textList("Globs of the files that it concerns, such as internal/git/**."),
		}, "title", "text"),
	}
}

// Effect is Reads: what it keeps no other call sees.
func (t *saveMemory) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *saveMemory) Doing(call Call) string { return "proposing a note: " + call.text("title") }

// Run carries out one call.
func (t *saveMemory) Run(ctx context.Context, call Call) Result {
	if t.memory == nil {
		return Failed("no memory is kept here: say it in your result instead")
	}
	id, err := t.memory.Propose(ctx, notes.Note{
		Title: call.text("title"), Text: call.text("text"), Tags: call.texts("tags"), Paths: call.texts("paths"),
		Source: t.source,
	})
	switch {
	case errors.Is(err, notes.ErrRefused):
		return Failed("%v", err)
	case err != nil:
		return Failed("the note could not be kept: %v. Go on without it, and say it in your result instead", err)
	}
	return Text(fmt.Sprintf("Proposed as %s. A person decides whether later runs see it; this one goes on as before.", id))
}
