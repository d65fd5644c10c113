package configs

import (
	"encoding"
	"maps"
	"reflect"
	"slices"

	"divisi/internal/spec"
)

// schemaDialect is the version of JSON Schema that editors are given.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// SchemaKinds are the kinds of files that have a schema.
func SchemaKinds() []string { return []string{"role", "project", "plan"} }

// Schema returns the JSON Schema of a kind of file, for editors: a role's front matter, a project file or a plan. It says which
// fields there are and of what form; what it does not say, the loading of the file does. nil for an unknown kind.
func Schema(kind string) map[string]any {
	var schema map[string]any
	switch kind {
	case "role":
		schema = schemaOf(reflect.TypeFor[roleFile](), "")
		schema["title"] = "Divisi role (front matter)"
	case "project":
		schema = schemaOf(reflect.TypeFor[spec.Project](), "")
		schema["title"] = "Divisi project file, .divisi/divisi.yaml"
	case "plan":
		schema = PlanSchema()
		schema["title"] = "Divisi plan"
	default:
		return nil
	}
	loosen(schema)
	schema["$schema"] = schemaDialect
	return schema
}

var textType = reflect.TypeFor[encoding.TextUnmarshaler]()

// schemaOf describes a type as the decoder reads it; key is Type.field for its field's texts.
func schemaOf(t reflect.Type, key string) map[string]any {
	switch {
	case t == jsonType:
		return map[string]any{"type": "object"}
	case t == oneOrMoreType:
		one := schemaOf(reflect.TypeFor[string](), key)
		list := map[string]any{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}
		return map[string]any{"anyOf": []any{one, list}}
	case reflect.PointerTo(t).Implements(textType):
		return map[string]any{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.Struct:
		return structSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), key)}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), key)}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	default:
		return stringSchema(key)
	}
}

func stringSchema(key string) map[string]any {
	schema := map[string]any{"type": "string"}
	if words := fieldWords[key]; len(words) > 0 {
		list := make([]any, len(words))
		for i, word := range words {
			list[i] = word
		}
		schema["enum"] = list
	}
	return schema
}

func structSchema(t reflect.Type) map[string]any {
	properties := fields{}
	addProperties(properties, t)
	var required []string
	for _, field := range []string{"name", "command"} {
		if fieldNeeded[t.Name()+"."+field] {
			required = append(required, field)
		}
	}
	return object(properties, required...)
}

func addProperties(properties fields, t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			addProperties(properties, f.Type)
			continue
		}
		name := yamlName(f)
		if name == "" {
			continue
		}
		key := t.Name() + "." + name
		schema := schemaOf(f.Type, key)
		schema["description"] = fieldTexts[key]
		if least, ok := fieldLeast[key]; ok {
			schema["minimum"] = least
		}
		properties[name] = schema
	}
}

const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	integerPattern  = `^[0-9][0-9_]*$`
)

// loosen lets a schema take what the decoder takes: 1_000_000, which is no number to every reader of YAML, the arguments of a
// command without quotes, and a name with nothing behind it.
func loosen(schema map[string]any) {
	defer orNothing(schema) // when what is inside has its form
	switch schema["type"] {
	case "integer":
		schema["type"], schema["pattern"] = []any{"integer", "string"}, integerPattern
	case "array":
		if items, ok := schema["items"].(map[string]any); ok && items["type"] == "string" && items["enum"] == nil {
			schema["items"] = map[string]any{"type": []any{"string", "number", "boolean"}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		switch inner := schema[name].(type) {
		case map[string]any:
			loosen(inner)
		case []any:
			for _, one := range inner {
				if table, ok := one.(map[string]any); ok {
					loosen(table)
				}
			}
		}
	}
}

// orNothing lets a table have names with nothing behind them, as far as what is nothing can do without fields.
func orNothing(schema map[string]any) {
	needed, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if one, ok := property.(map[string]any); ok && !slices.Contains(needed, any(name)) {
			nullable(one)
		}
	}
	if entry, ok := schema["additionalProperties"].(map[string]any); ok && entry["type"] == "object" && entry["required"] == nil {
		nullable(entry)
	}
}

func nullable(schema map[string]any) {
	switch kind := schema["type"].(type) {
	case string:
		schema["type"] = []any{kind, "null"}
	case []any:
		schema["type"] = append(kind, "null")
	}
	if words, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(words, nil)
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		schema["anyOf"] = append(forms, map[string]any{"type": "null"})
	}
}
