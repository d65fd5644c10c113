package content

import (
	"unicode/utf8"

	"google.golang.org/genai"
)

// ValidContent is a content whose text is UTF-8, and whether it is another than the one given.
func ValidContent(c *genai.Content) (*genai.Content, bool) {
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
		out.Text, changed = Valid(p.Text), true
	}
	if fc := p.FunctionCall; fc != nil {
		if args, bad := ValidMap(fc.Args); bad {
			call := *fc
			call.Args, out.FunctionCall, changed = args, &call, true
		}
	}
	if fr := p.FunctionResponse; fr != nil {
		if response, bad := ValidMap(fr.Response); bad {
			result := *fr
			result.Response, out.FunctionResponse, changed = response, &result, true
		}
	}
	if r := p.CodeExecutionResult; r != nil && !utf8.ValidString(r.Output) {
		result := *r
		result.Output, out.CodeExecutionResult, changed = Valid(r.Output), &result, true
	}
	if !changed {
		return p, false
	}
	return &out, true
}

func ValidMap(m map[string]any) (map[string]any, bool) {
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
		return Valid(v), true
	case map[string]any:
		if !anyInvalid(v) {
			return v, false
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			valid, _ := validValue(value)
			out[Valid(key)] = valid
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
