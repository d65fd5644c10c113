package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/spec"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checker checks arguments against one schema.
type checker struct {
	schema *jsonschema.Schema
	names  []string
}

// newChecker compiles the schema of a tool: the one that it shows, or the one that it checks against.
func newChecker(t Tool) (*checker, error) {
	name, schema := t.Declaration().Name, t.Declaration().ParametersJsonSchema
	if own, ok := t.(interface{ argumentSchema() any }); ok {
		schema = own.argumentSchema()
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("write the schema of %s: %w", name, err)
	}
	compiled, err := spec.CompileSchema("tool:"+name, data)
	if err != nil {
		return nil, fmt.Errorf("compile the schema of %s: %w", name, err)
	}
	c := &checker{schema: compiled}
	c.names = slices.Sorted(maps.Keys(compiled.Properties))
	return c, nil
}

// check returns the arguments as plain JSON values and everything that is wrong with them.
func (c *checker) check(args map[string]any) (clean map[string]any, faults []string) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, []string{"the arguments are not JSON: " + err.Error()}
	}
	if err := json.Unmarshal(data, &clean); err != nil {
		return nil, []string{"the arguments are not a JSON object: " + err.Error()}
	}
	if clean == nil {
		clean = map[string]any{}
	}
	var invalid *jsonschema.ValidationError
	switch err := c.schema.Validate(clean); {
	case errors.As(err, &invalid):
		faults = c.leaves(invalid, nil)
		slices.Sort(faults)
		return clean, slices.Compact(faults)
	case err != nil:
		return clean, []string{err.Error()}
	}
	return clean, nil
}

func (c *checker) leaves(e *jsonschema.ValidationError, faults []string) []string {
	if len(e.Causes) == 0 {
		return append(faults, c.explain(e)...)
	}
	for _, cause := range e.Causes {
		faults = c.leaves(cause, faults)
	}
	return faults
}

func (c *checker) explain(e *jsonschema.ValidationError) []string {
	at := argument(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var faults []string
		for _, name := range k.Properties {
			near := ""
			if len(e.InstanceLocation) == 0 {
				if n := spec.Nearest(name, c.names); n != "" {
					near = fmt.Sprintf(" (did you mean %q?)", n)
				}
			}
			faults = append(faults, fmt.Sprintf("%sthere is no argument %q%s", prefix(at), name, near))
		}
		return faults
	case *kind.Required:
		return []string{fmt.Sprintf("%smissing: %s", prefix(at), strings.Join(k.Missing, ", "))}
	case *kind.Type:
		return []string{fmt.Sprintf("%sis of type %s and must be %s", prefix(at), k.Got, strings.Join(k.Want, " or "))}
	}
	if out := e.BasicOutput(); out != nil && out.Error != nil {
		return []string{prefix(at) + out.Error.String()}
	}
	return []string{prefix(at) + "does not fit the schema"}
}

func prefix(at string) string {
	if at == "" {
		return ""
	}
	return at + ": "
}

// argument writes the location of a value as tasks[0].files.
func argument(location []string) string {
	var b strings.Builder
	for _, part := range location {
		if _, err := strconv.Atoi(part); err == nil && b.Len() > 0 {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}
