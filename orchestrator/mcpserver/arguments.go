package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"divisi/internal/usage"
)

// arguments makes the schema of what a tool accepts from the type of its input.
func arguments[In any](t tool) *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("make the schema of tool %s: %v", t.name, err)) // the types are those of this package
	}
	if t.most > 0 {
		s.Properties["limit"].Description += fmt.Sprintf(" At most %d.", t.most)
	}
	for name, allowed := range t.oneOf {
		for _, v := range allowed {
			s.Properties[name].Enum = append(s.Properties[name].Enum, v)
		}
	}
	return s
}

// accept returns why a tool cannot be called with some arguments, in plain words: the library's own name parts of the schema.
func accept(tool string, s *jsonschema.Schema, given json.RawMessage) error {
	var values map[string]any
	if len(given) > 0 && json.Unmarshal(given, &values) != nil {
		return usage.Errorf("the arguments of %s must be a JSON object", tool)
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := s.Properties[name]
		if p == nil {
			return usage.Errorf("%s has no argument %.80q; it accepts %s", tool, name, strings.Join(names, ", "))
		}
		if must, ok := fits(p, values[name]); !ok {
			return usage.Errorf("%s must be %s", name, must)
		}
	}
	for _, name := range s.Required {
		if _, is := values[name]; !is {
			return usage.Errorf("%s needs the argument %s; it accepts %s", tool, name, strings.Join(names, ", "))
		}
	}
	return nil
}

// maxNumber bounds a whole number, either way: larger ones are not exact in JSON.
const maxNumber = 1<<53 - 1

// fits reports whether a value is what a schema of an argument demands, and what that is.
func fits(p *jsonschema.Schema, v any) (must string, ok bool) {
	switch {
	case len(p.Enum) > 0:
		names := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			names[i] = fmt.Sprint(e)
		}
		return "one of " + strings.Join(names, ", "), slices.Contains(p.Enum, v)
	case p.Type == "string":
		_, ok = v.(string)
		return "a text", ok
	case p.Type == "boolean":
		_, ok = v.(bool)
		return "true or false", ok
	case p.Type == "integer":
		n, is := v.(float64)
		return fmt.Sprintf("a whole number between %d and %d", -maxNumber, maxNumber),
			is && n == math.Trunc(n) && math.Abs(n) <= maxNumber
	case p.Type == "number":
		_, ok = v.(float64)
		return "a number", ok
	case v == nil && slices.Contains(p.Types, "null"):
		return "", true
	}
	list, ok := v.([]any)
	for _, e := range list {
		_, is := e.(string)
		ok = ok && is
	}
	return "a list of texts", ok
}
