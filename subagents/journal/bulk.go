package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/text"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

const (
	// maxPart is the size in bytes above which a part becomes an object; maxMessage bounds a message, well below the
	// bus's own limit. excerpt is how much of the head and of the tail stays in the event.
	maxPart    = 256 << 10
	maxMessage = 768 << 10
	minPart    = 4 << 10
	excerpt    = 1 << 10
	// storedArgs is the only argument of a stored call whose arguments became an object.
	storedArgs = "$object"
	// PartPrefix begins the name of an object that holds a part of an event.
	PartPrefix = "part-"
)

// encode writes the events as they are stored. Parts that are too big become objects, and when the message is still too big,
// smaller ones too.
func (j *Journal) encode(ctx context.Context, events []contextscope.Event) ([]byte, error) {
	for limit := maxPart; ; limit /= 2 {
		for i := range events {
			content, err := j.shrink(ctx, events[i].Content, limit)
			if err != nil {
				return nil, fmt.Errorf("store a big part of event %s: %w", events[i].ID, err)
			}
			events[i].Content = content
		}
		data, err := wire.EncodeEvents(events)
		if err != nil || len(data) <= maxMessage || limit <= minPart {
			return data, err
		}
	}
}

// shrink returns the content with its parts of more than limit bytes replaced; the content itself when there are none.
func (j *Journal) shrink(ctx context.Context, c *genai.Content, limit int) (*genai.Content, error) {
	if c == nil {
		return nil, nil
	}
	out := &genai.Content{Role: c.Role, Parts: make([]*genai.Part, len(c.Parts))}
	changed := false
	for i, p := range c.Parts {
		small, err := j.shrinkPart(ctx, p, limit)
		if err != nil {
			return nil, err
		}
		out.Parts[i], changed = small, changed || small != p
	}
	if !changed {
		return c, nil
	}
	return out, nil
}

// shrinkPart keeps what pairs a call with its result, and a thought's signature; text, arguments and output move out.
func (j *Journal) shrinkPart(ctx context.Context, p *genai.Part, limit int) (*genai.Part, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("marshal a part: %w", err)
	}
	if len(body) <= limit {
		return p, nil
	}
	small := &genai.Part{Thought: p.Thought, ThoughtSignature: p.ThoughtSignature}
	switch {
	case p.FunctionCall != nil:
		call := *p.FunctionCall
		name, err := j.KeepJSON(ctx, call.Args)
		call.Args = map[string]any{storedArgs: name}
		small.FunctionCall = &call
		return small, err
	case p.FunctionResponse != nil:
		response := *p.FunctionResponse
		response.Parts = nil
		response.Response, err = j.shrinkResponse(ctx, response.Response)
		small.FunctionResponse = &response
		return small, err
	case p.Text != "":
		small.Text, err = j.keepText(ctx, p.Text)
		return small, err
	default:
		name, err := j.Keep(ctx, body)
		small.Text = fmt.Sprintf("[a part of %d bytes, kept as object %s]", len(body), name)
		return small, err
	}
}

// shrinkResponse keeps the small facts beside a long output, such as an exit code.
func (j *Journal) shrinkResponse(ctx context.Context, response map[string]any) (map[string]any, error) {
	for _, key := range []string{"output", "error"} {
		long, ok := response[key].(string)
		if !ok {
			continue
		}
		text, err := j.keepText(ctx, long)
		small := maps.Clone(response)
		small[key] = text
		if body, marshalErr := json.Marshal(small); err != nil || marshalErr == nil && len(body) <= minPart {
			return small, err
		}
	}
	name, err := j.KeepJSON(ctx, response)
	return map[string]any{"output": "kept as object " + name}, err
}

// KeepJSON stores a value as an object and returns its name.
func (j *Journal) KeepJSON(ctx context.Context, v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal a value: %w", err)
	}
	return j.Keep(ctx, body)
}

func (j *Journal) keepText(ctx context.Context, long string) (string, error) {
	name, err := j.Keep(ctx, []byte(long))
	if err != nil {
		return "", err
	}
	n := min(excerpt, len(long)/2)
	return fmt.Sprintf("%s\n[… %d bytes in all, kept as object %s …]\n%s",
		text.Head(long, n), len(long), name, text.End(long, n)), nil
}

// Keep stores content as an object and returns its name.
func (j *Journal) Keep(ctx context.Context, body []byte) (string, error) {
	name := PartPrefix + artifact.Digest(body)
	if err := j.objects.Put(ctx, name, body); err != nil {
		return "", fmt.Errorf("put object %s: %w", name, err)
	}
	return name, nil
}

// Args returns a call's arguments, fetched where they had become an object.
func (j *Journal) Args(ctx context.Context, call *genai.FunctionCall) (map[string]any, error) {
	name, ok := call.Args[storedArgs].(string)
	if !ok || len(call.Args) != 1 || !strings.HasPrefix(name, PartPrefix) {
		return call.Args, nil
	}
	body, err := j.objects.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get the arguments of %s from %s: %w", call.Name, name, err)
	}
	var args map[string]any
	if err := json.Unmarshal(body, &args); err != nil {
		return nil, fmt.Errorf("decode the arguments of %s from %s: %w", call.Name, name, err)
	}
	return args, nil
}
