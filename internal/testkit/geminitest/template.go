package geminitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// scope holds the names of a template.
type scope struct {
	req  *Request
	item string
}

func (s scope) funcs() template.FuncMap {
	return template.FuncMap{
		"task":    func() string { return s.req.Task },
		"attempt": func() int { return s.req.Attempt },
		"turn":    func() int { return s.req.Turn },
		"model":   func() string { return s.req.Model },
		"item":    func() string { return s.item },
		"capture": func(re string) (string, error) { return s.capture(re, false) },
		// captureLast prefers what was said last.
		"captureLast": func(re string) (string, error) { return s.capture(re, true) },
		"captureAll":  func(re string) ([]string, error) { return captures(re, s.req.Text()) },
		"result":      s.result,
		"replace":     func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
		"lower":       strings.ToLower,
		"upper":       strings.ToUpper,
	}
}

func (s scope) capture(re string, last bool) (string, error) {
	all, err := captures(re, s.req.Text())
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("nothing in the request matches %q", re)
	}
	if last {
		return all[len(all)-1], nil
	}
	return all[0], nil
}

// result is the output of the last response of a tool: its "output", else the whole response as JSON.
func (s scope) result(tool string) (string, error) {
	for i := len(s.req.Contents) - 1; i >= 0; i-- {
		parts := s.req.Contents[i].Parts
		for j := len(parts) - 1; j >= 0; j-- {
			r := parts[j].FunctionResponse
			if r == nil || r.Name != tool {
				continue
			}
			if out, ok := r.Response["output"].(string); ok {
				return out, nil
			}
			raw, err := json.Marshal(r.Response)
			return string(raw), err
		}
	}
	return "", fmt.Errorf("the request has no result of %s", tool)
}

// captures returns the first group (or the whole) of every match, in order.
func captures(re, text string) ([]string, error) {
	rx, err := regexp.Compile(re)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range rx.FindAllStringSubmatch(text, -1) {
		out = append(out, m[min(1, len(m)-1)])
	}
	return out, nil
}

func parseTemplate(text string, s scope) (*template.Template, error) {
	return template.New("text").Funcs(s.funcs()).Option("missingkey=error").Parse(text)
}

func expand(text string, s scope) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := parseTemplate(text, s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return b.String(), nil
}

// expandAny expands every string in a value.
func expandAny(v any, s scope) (any, error) {
	switch v := v.(type) {
	case string:
		return expand(v, s)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = expandAny(e, s); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = expandAny(e, s); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// stringsIn lists every string in a value, the keys of objects in order.
func stringsIn(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, stringsIn(v[k])...)
		}
		return out
	}
	return nil
}

// expandAnswer fills an answer's templates in and repeats calls.
func expandAnswer(a Answer, req *Request) (Answer, error) {
	s := scope{req: req}
	var err error
	if a.Thought, err = expand(a.Thought, s); err != nil {
		return a, fmt.Errorf("thought: %w", err)
	}
	if a.Text, err = expand(a.Text, s); err != nil {
		return a, fmt.Errorf("text: %w", err)
	}
	var calls []Call
	for _, c := range a.Calls {
		items := []string{""}
		if c.ForEach != "" {
			if items, err = captures(c.ForEach, req.Text()); err != nil {
				return a, fmt.Errorf("call %s: for_each: %w", c.Name, err)
			}
		}
		for _, item := range items {
			args, err := expandAny(c.Args, scope{req: req, item: item})
			if err != nil {
				return a, fmt.Errorf("call %s: %w", c.Name, err)
			}
			m, _ := args.(map[string]any)
			calls = append(calls, Call{Name: c.Name, Args: m})
		}
	}
	a.Calls = calls
	return a, nil
}
