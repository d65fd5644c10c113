package artifacts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	notes "divisi/contextscope/memory"
	"divisi/internal/text"
	"divisi/subagents/tool"
)

const (
	// memoryHits is how many notes are shown, memoryChars how many characters of them together.
	memoryHits  = 8
	memoryChars = 6000
)

// Memory holds the notes that outlive a run. Its methods are called from several goroutines.
type Memory interface {
	// Search returns the notes that fit the query best, the best first, at most limit. Nothing in the query is an operator.
	Search(ctx context.Context, query string, limit int) ([]notes.Hit, error)
	// Propose returns the proposal's id; the same note always has the same. The error wraps memory.ErrRefused when the note
	// is at fault, and then reports what to change.
	Propose(ctx context.Context, n notes.Note) (id string, err error)
}

type queryArgs struct {
	Query string `json:"query" jsonschema:"a few words or identifiers"`
}

// Doing describes the call.
func (a queryArgs) Doing() string { return "searching the memory for " + a.Query }

func (t *tools) loadMemory(ctx context.Context, a queryArgs) tool.Result {
	if t.Memory == nil {
		return tool.Failed("no memory is kept here: continue without it")
	}
	hits, err := t.Memory.Search(ctx, a.Query, memoryHits)
	if err != nil {
		return tool.Failed("the memory cannot be searched: %v. Continue without it", err)
	}
	if len(hits) == 0 {
		return tool.Text(fmt.Sprintf("No notes match %q. Try other words once, or continue without.", text.Short(a.Query, 200)))
	}
	return tool.Text(hitList(hits))
}

// hitList shows whole notes while they fit; the rest is counted.
func hitList(hits []notes.Hit) string {
	var b strings.Builder
	size := 0
	for i, h := range hits {
		note := fmt.Sprintf("## %s\n(note %s)\n\n%s\n\n", text.OneLine(h.Title), text.OneLine(h.Name), h.Text)
		if i > 0 && size+len([]rune(note)) > memoryChars {
			fmt.Fprintf(&b, "(%d more notes fit less well.)\n", len(hits)-i)
			break
		}
		note = text.Short(note, memoryChars)
		size += len([]rune(note))
		b.WriteString(note)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type noteArgs struct {
	Title string   `json:"title" jsonschema:"what the note says, in one line"`
	Text  string   `json:"text" jsonschema:"Markdown: what is so, and how it is known"`
	Tags  []string `json:"tags,omitempty"`
	Paths []string `json:"paths,omitempty" jsonschema:"globs of the files that it concerns"`
}

// Doing describes the call.
func (a noteArgs) Doing() string { return "proposing a note: " + a.Title }

func (t *tools) saveMemory(ctx context.Context, a noteArgs) tool.Result {
	if t.Memory == nil {
		return tool.Failed("no memory is kept here: say it in your result instead")
	}
	id, err := t.Memory.Propose(ctx, notes.Note{Title: a.Title, Text: a.Text, Tags: a.Tags, Paths: a.Paths, Source: t.Source})
	switch {
	case errors.Is(err, notes.ErrRefused):
		return tool.Failed("%v", err)
	case err != nil:
		return tool.Failed("the note could not be kept: %v. Continue without it, and say it in your result instead", err)
	}
	return tool.Text(fmt.Sprintf("Proposed as %s. A person decides whether later runs see it; this one continues as before.", id))
}
