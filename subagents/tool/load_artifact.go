package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

//go:embed load_artifact.md
var loadArtifactText string

// ArtifactReader is an Artifacts that can be read again.
type ArtifactReader interface {
	// Get returns what is behind a handle that the agent may read. Its errors wrap artifact.ErrHandle for a text that is no
	// handle, artifact.ErrNotFound for one that leads nowhere, and artifact.ErrCorrupt for content that is damaged.
	Get(ctx context.Context, handle string) ([]byte, error)
}

// EventReader shows an agent its own session.
type EventReader interface {
	// Event returns the event with a sequence number as text. One that is not there is an error that wraps
	// artifact.ErrNotFound.
	Event(ctx context.Context, seq int) (text string, err error)
}

type loadArtifact struct {
	store  ArtifactReader
	events EventReader
	known  func() []string
}

func newLoadArtifact(env *Env) *loadArtifact {
	store, _ := env.Artifacts.(ArtifactReader)
	return &loadArtifact{store, env.Events, env.Known}
}

// Declaration is what the model is told.
func (t *loadArtifact) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolLoadArtifact, Description: loadArtifactText,
		ParametersJsonSchema: object(properties{
			"handle":     property("string", "The handle, exactly as it was given."),
			"start_line": property("integer", "First line to show, from 1. Default 1."),
			"end_line":   property("integer", "Last line to show. Default: the last."),
			"start_byte": property("integer", "Instead of lines: first byte to show, from 1. For very long lines."),
			"end_byte":   property("integer", "Last byte to show. Default: the last."),
			"search": property("string",
				"Show only lines that match this RE2 regular expression or contain this text, with 2 lines around each."),
		}, "handle"),
	}
}

// Effect is Reads: it only looks.
func (t *loadArtifact) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *loadArtifact) Doing(call Call) string { return "loading " + call.text("handle") }

// Run carries out one call. What was asked for is shown in the next request: the result is a line about it.
func (t *loadArtifact) Run(ctx context.Context, call Call) Result {
	handle := strings.TrimSpace(call.text("handle"))
	asked, err := readPart(call)
	if err != nil {
		return Failed("%s", err)
	}
	data, err := t.get(ctx, handle)
	if err != nil {
		return Failed("%s cannot be loaded: %s", printable(short(handle, 300)), t.explain(handle, err))
	}
	switch {
	case len(data) == 0:
		return Text(handle + " is empty")
	case binary(data):
		return Failed("%s is binary (%d bytes) and cannot be shown", handle, len(data))
	}
	what, text, err := asked.of(ctx, strings.ToValidUTF8(string(data), "\uFFFD"))
	switch {
	case err != nil:
		return Failed("%s: %s", handle, err)
	case text == "":
		return Text(handle + ": " + what)
	}
	r := Text(handle + " " + what + ", shown at the end of the next request")
	r.Load = &Load{Handle: handle, What: what, Text: elide(text)}
	return r
}

var errNotHere = errors.New("nothing of the kind is kept here: repeat the call with a narrower question")

func (t *loadArtifact) get(ctx context.Context, handle string) ([]byte, error) {
	if seq, ok := contextscope.ParseEventHandle(handle); ok {
		if t.events == nil {
			return nil, errNotHere
		}
		text, err := t.events.Event(ctx, seq)
		return []byte(text), err
	}
	if t.store == nil {
		return nil, errNotHere
	}
	return t.store.Get(ctx, handle)
}

// explain says what went wrong and which handles may have been meant.
func (t *loadArtifact) explain(handle string, err error) string {
	why := printable(err.Error())
	switch {
	case errors.Is(err, artifact.ErrCorrupt):
		return why + ". What was stored is not what was put there: make it again with the call that made it"
	case !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrHandle):
		return why
	}
	if near := t.nearest(handle); len(near) > 0 {
		return why + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return why + ". Give a handle exactly as it stood where you read it"
}

// nearest are the known handles that are like one: other versions of the name first.
func (t *loadArtifact) nearest(handle string) []string {
	if t.known == nil {
		return nil
	}
	const most = 3
	known := t.known()
	var near []string
	name, _, _ := strings.Cut(handle, "@")
	for _, k := range slices.Backward(known) {
		if strings.HasPrefix(k, name+"@") || name != "" && strings.HasPrefix(k, fmt.Sprintf("artifact:%s@", name)) {
			near = append(near, k)
		}
	}
	near = append(near, spec.NearestAll(handle, known, most)...)
	return firstOf(near, most)
}

// firstOf are the first few of a list, each once.
func firstOf(list []string, most int) []string {
	var out []string
	for _, s := range list {
		if len(out) < most && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
