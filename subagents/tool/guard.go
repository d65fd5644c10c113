package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Artifacts keeps what is too large for a prompt.
type Artifacts interface {
	// Put stores data under a name and returns the handle by which it can be read again. It may be called from several
	// goroutines; the same name may come again with other data.
	Put(ctx context.Context, name string, data []byte) (handle string, err error)
}

// ArtifactReader is an Artifacts that can be read again.
type ArtifactReader interface {
	// Get returns what is behind a handle.
	Get(ctx context.Context, handle string) ([]byte, error)
}

// The sizes of output, in characters. Errors mostly stand at the end, so that the tail is the larger part.
const (
	maxOutput  = 40_000
	headOutput = 6_000
	tailOutput = 14_000
)

// Guard bounds what tools return: a larger output goes to an artifact, and the model sees its head, its tail and the handle.
type Guard struct {
	// Artifacts may be nil: then only head and tail remain.
	Artifacts Artifacts
}

// Bound returns the result with every output made valid UTF-8 and none above 40,000 characters.
func (g *Guard) Bound(ctx context.Context, call Call, r Result) Result {
	if r.Output == nil {
		r.Output = map[string]any{}
	}
	for key, value := range r.Output {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				r.Output[key] = "this value cannot be written as JSON: " + err.Error()
				continue
			}
			if len(encoded) <= maxOutput {
				continue
			}
			text = string(encoded)
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		if utf8.RuneCountInString(text) > maxOutput {
			text = g.cut(ctx, call, key, text)
		}
		r.Output[key] = text
	}
	return r
}

func (g *Guard) cut(ctx context.Context, call Call, key, text string) string {
	runes := []rune(text)
	head := string(runes[:headOutput])
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	tail := string(runes[len(runes)-tailOutput:])
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	left := len(runes) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	kept := g.keep(ctx, call, key, text)
	return fmt.Sprintf("%s\n[... %d of %d characters left out; %s ...]\n%s", head, left, len(runes), kept, tail)
}

func (g *Guard) keep(ctx context.Context, call Call, key, text string) string {
	if g.Artifacts == nil {
		return "they are not kept"
	}
	name := call.Name + "-" + key
	if call.ID != "" {
		name += "-" + fileSafe(call.ID)
	}
	handle, err := g.Artifacts.Put(ctx, name, []byte(text))
	if err != nil {
		return "they could not be kept: " + err.Error()
	}
	return fmt.Sprintf("load_artifact %q has all of it", handle)
}

// fileSafe makes a foreign id usable in an artifact's name.
func fileSafe(id string) string {
	return short(strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '_'
	}, id), 64)
}

// printable keeps what people watch on one line and free of control characters.
func printable(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}
