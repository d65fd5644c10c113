package contextscope

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"
)

// ownItem takes an event as a turn of the conversation; without a content it is none. It gets the role that its kind has,
// and nothing that a model's interface refuses: a log that was damaged or written by another program cannot break the
// request. The event itself is not touched.
func ownItem(e *Event, src int, pair *pairing) item {
	it := item{author: authorUser, src: src}
	role := genai.RoleUser
	switch e.Kind {
	case KindTurn:
		it.author, role = e.Agent, genai.RoleModel
	case KindTool, KindUser, KindSteering, KindControl:
	default:
		return it
	}
	if e.Content == nil && e.Kind == KindControl {
		return it // a note of the runtime for people: it has no words for the model
	}
	c := inRole(e.Content, role)
	switch {
	case empty(c):
		pair.notef(src, "%s was left out: nothing in it that a model can see", e.Kind)
		return it
	case role == genai.RoleModel && !speaks(c):
		pair.notef(src, "%s was left out: nothing but thoughts in it", e.Kind)
		return it
	case len(c.Parts) < len(e.Content.Parts):
		pair.notef(src, "%d parts were left out: empty, or not of role %s", len(e.Content.Parts)-len(c.Parts), role)
	}
	if valid, changed := validContent(c); changed {
		pair.notef(src, "invalid UTF-8 was replaced")
		c = valid
	}
	it.content = c
	return it
}

// inRole is a content in a role, without parts that do not belong there and without empty ones: the same content where
// nothing is wrong with it.
func inRole(c *genai.Content, role string) *genai.Content {
	if c == nil {
		return nil
	}
	kept := keepParts(c, func(p *genai.Part) bool {
		if role == genai.RoleModel && p.FunctionResponse != nil || role == genai.RoleUser && p.FunctionCall != nil {
			return false
		}
		return !hollow(p)
	})
	if kept == nil || kept.Role == role {
		return kept
	}
	return &genai.Content{Role: role, Parts: kept.Parts}
}

// hollow says whether a part holds nothing at all: interfaces refuse those.
func hollow(p *genai.Part) bool { return !visible(p) && p.Text == "" }

// speaks says whether a model's turn has anything but thoughts: interfaces refuse a turn that has not, signed or unsigned.
func speaks(c *genai.Content) bool {
	for _, p := range c.Parts {
		if !p.Thought || p.FunctionCall != nil || p.ToolCall != nil || p.ToolResponse != nil {
			return true
		}
	}
	return false
}

// validContent is a content whose text is UTF-8, and whether it is another than the one given.
func validContent(c *genai.Content) (*genai.Content, bool) {
	var parts []*genai.Part
	for i, p := range c.Parts {
		valid, changed := validPart(p)
		if !changed {
			continue
		}
		if parts == nil {
			parts = append(parts, c.Parts...)
		}
		parts[i] = valid
	}
	if parts == nil {
		return c, false
	}
	return &genai.Content{Role: c.Role, Parts: parts}, true
}

func validPart(p *genai.Part) (*genai.Part, bool) {
	out, changed := *p, false
	if !utf8.ValidString(p.Text) {
		out.Text, changed = toValid(p.Text), true
	}
	if fc := p.FunctionCall; fc != nil {
		if args, bad := validMap(fc.Args); bad {
			call := *fc
			call.Args, out.FunctionCall, changed = args, &call, true
		}
	}
	if fr := p.FunctionResponse; fr != nil {
		if response, bad := validMap(fr.Response); bad {
			result := *fr
			result.Response, out.FunctionResponse, changed = response, &result, true
		}
	}
	if r := p.CodeExecutionResult; r != nil && !utf8.ValidString(r.Output) {
		result := *r
		result.Output, out.CodeExecutionResult, changed = toValid(r.Output), &result, true
	}
	if !changed {
		return p, false
	}
	return &out, true
}

func validMap(m map[string]any) (map[string]any, bool) {
	valid, changed := validValue(m)
	if !changed {
		return m, false
	}
	out, _ := valid.(map[string]any)
	return out, true
}

// validValue is a JSON value whose text is UTF-8, and whether it is another than the one given. It copies only then.
func validValue(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if utf8.ValidString(v) {
			return v, false
		}
		return toValid(v), true
	case map[string]any:
		if !anyInvalid(v) {
			return v, false
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			valid, _ := validValue(value)
			out[toValid(key)] = valid
		}
		return out, true
	case []any:
		var out []any
		for i, value := range v {
			valid, changed := validValue(value)
			if changed && out == nil {
				out = append(out, v...)
			}
			if changed {
				out[i] = valid
			}
		}
		if out == nil {
			return v, false
		}
		return out, true
	default:
		return v, false
	}
}

func anyInvalid(m map[string]any) bool {
	for key, value := range m {
		if !utf8.ValidString(key) {
			return true
		}
		if _, bad := validValue(value); bad {
			return true
		}
	}
	return false
}

func toValid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }
