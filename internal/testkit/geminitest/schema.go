package geminitest

import (
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/genai"
)

// maxDepth is how deep a tool's schema may nest.
const maxDepth = 12

var (
	toolName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`)
	schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
)

// checkTools inspects the declarations: names, and schemas that the API can compile.
func checkTools(tools []*genai.Tool) error {
	seen := make(map[string]bool)
	for i, t := range tools {
		for j, f := range t.FunctionDeclarations {
			where := fmt.Sprintf("tools[%d].functionDeclarations[%d]", i, j)
			switch {
			case f == nil || !toolName.MatchString(f.Name):
				return fmt.Errorf("%s: invalid function name", where)
			case seen[f.Name]:
				return fmt.Errorf("%s: duplicate function declaration %s", where, f.Name)
			case f.Parameters != nil && f.ParametersJsonSchema != nil:
				return fmt.Errorf("%s: %s has both parameters and parametersJsonSchema", where, f.Name)
			}
			seen[f.Name] = true
			if f.ParametersJsonSchema == nil {
				continue
			}
			schema, ok := f.ParametersJsonSchema.(map[string]any)
			if !ok || schema["type"] != "object" {
				return fmt.Errorf("%s: %s: parametersJsonSchema is not a schema of type object", where, f.Name)
			}
			if err := checkSchema(schema, "parametersJsonSchema", 1); err != nil {
				return fmt.Errorf("%s: %s: %w", where, f.Name, err)
			}
		}
	}
	return nil
}

func checkSchema(s map[string]any, where string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: nested too deeply", where)
	}
	kinds, err := typesOf(s["type"])
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	props, hasProps := s["properties"].(map[string]any)
	if s["properties"] != nil && !hasProps {
		return fmt.Errorf("%s.properties is not an object", where)
	}
	if err := checkRequired(s["required"], props); err != nil {
		return fmt.Errorf("%s.required: %w", where, err)
	}
	for name, p := range props {
		sub, ok := p.(map[string]any)
		if !ok {
			return fmt.Errorf("%s.properties.%s is not a schema", where, name)
		}
		if err := checkSchema(sub, where+".properties."+name, depth+1); err != nil {
			return err
		}
	}
	if slices.Contains(kinds, "array") {
		items, ok := s["items"].(map[string]any)
		if !ok {
			return fmt.Errorf("%s.items: missing field", where)
		}
		return checkSchema(items, where+".items", depth+1)
	}
	return nil
}

// typesOf reads "type": a word, a list of words, or absent.
func typesOf(v any) ([]string, error) {
	var words []any
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		words = v
	default:
		words = []any{v}
	}
	var out []string
	for _, w := range words {
		word, ok := w.(string)
		if !ok || !slices.Contains(schemaTypes, word) {
			return nil, fmt.Errorf("unknown type %v", w)
		}
		out = append(out, word)
	}
	return out, nil
}

func checkRequired(v any, props map[string]any) error {
	if v == nil {
		return nil
	}
	names, ok := v.([]any)
	if !ok {
		return fmt.Errorf("not a list")
	}
	for _, n := range names {
		name, ok := n.(string)
		if _, known := props[name]; !ok || !known {
			return fmt.Errorf("property %v is not defined", n)
		}
	}
	return nil
}
