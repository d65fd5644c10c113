package configs

import (
	"encoding/json"
	"slices"
	"sync"

	"divisi/internal/spec"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// The schemas of the files, as they are read.
var (
	projectSchema = sync.OnceValue(func() *jsonschema.Schema {
		s := spec.Schema[spec.Project]()
		both := *s.Properties["setup"]
		both.Description = ""
		list := *both.Properties["command"]
		s.Properties["setup"] = &jsonschema.Schema{
			Description: s.Properties["setup"].Description, AnyOf: []*jsonschema.Schema{&list, &both},
		}
		s.Properties["environment"] = &jsonschema.Schema{
			Description: s.Properties["environment"].Description, AnyOf: []*jsonschema.Schema{
				{Type: "string", Enum: []any{spec.EnvironmentCheckout}},
				{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
			},
		}
		return s
	})
	planSchema         = sync.OnceValue(spec.Schema[spec.Plan])
	policySchema       = sync.OnceValue(spec.Schema[spec.Policy])
	organisationSchema = sync.OnceValue(func() *jsonschema.Schema {
		s := spec.Schema[spec.Organisation]()
		preset := *projectSchema()
		preset.Description = s.Properties["preset"].Description
		s.Properties["preset"] = &preset
		return s
	})
	roleSchema = sync.OnceValue(func() *jsonschema.Schema {
		s := spec.Schema[roleFile]()
		for _, tool := range spec.Tools() {
			s.Properties["tools"].Items.Enum = append(s.Properties["tools"].Items.Enum, tool)
		}
		list := *s.Properties["executor"]
		list.Description, list.MinItems, list.UniqueItems = "", new(1), true
		s.Properties["executor"] = &jsonschema.Schema{
			Description: s.Properties["executor"].Description, AnyOf: []*jsonschema.Schema{list.Items, &list},
		}
		return s
	})
)

// oneOrMore is a list that a file may write as a lone value where it has one element.
type oneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// kinds are the files that have a schema.
var kinds = []struct {
	name, title string
	schema      func() *jsonschema.Schema
}{
	{"role", "Divisi role (front matter)", roleSchema},
	{"project", "Divisi project file, .divisi/divisi.yaml", projectSchema},
	{"plan", "Divisi plan", planSchema},
	{"worker", "Divisi policy of a machine's owner, worker.yaml", policySchema},
	{"policy", "Divisi policy of an organisation, /etc/divisi/policy.yaml", organisationSchema},
}

// SchemaKinds are the names of the kinds of files that have a schema.
func SchemaKinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Schema returns the JSON Schema of a kind of file, for editors: a role's front matter, a project file or a plan. It is the one
// that the loader reads files by, with the freedoms that YAML has over JSON. nil for an unknown kind.
func Schema(kind string) *jsonschema.Schema {
	for _, k := range kinds {
		if k.name == kind {
			schema := k.schema().CloneSchemas()
			spec.EachSchema(schema, loosen)
			schema.Title, schema.Schema = k.title, "https://json-schema.org/draft/2020-12/schema"
			return schema
		}
	}
	return nil
}

// loosen lets a schema accept what the loader accepts: 1_000_000, which is no number to every reader of YAML, the arguments of a
// command without quotes, and a name with nothing behind it.
func loosen(s *jsonschema.Schema) {
	switch {
	case s.Type == "integer":
		if s.Minimum == nil {
			s.Minimum = new(0.0)
		}
		s.Type, s.Types, s.Pattern = "", []string{"integer", "string"}, `^[0-9][0-9_]*$`
	case s.Pattern == spec.BudgetPattern:
		s.Type, s.Types, s.Minimum = "", []string{"integer", "string"}, new(0.0)
	case s.Type == "array" && s.Items.Type == "string" && s.Items.Enum == nil:
		s.Items = &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
	}
	for name, property := range s.Properties {
		if !slices.Contains(s.Required, name) {
			nullable(property)
		}
	}
	if entry := s.AdditionalProperties; entry != nil && entry.Type == "object" && entry.Required == nil {
		nullable(entry)
	}
}

// nullable lets a schema accept null. A cloned schema shares its lists with the original, which must not grow.
func nullable(s *jsonschema.Schema) {
	if s.Type != "" {
		s.Types, s.Type = []string{s.Type}, ""
	}
	if s.Types != nil {
		s.Types = append(slices.Clip(s.Types), "null")
	}
	if s.Enum != nil {
		s.Enum = append(slices.Clip(s.Enum), nil)
	}
	if s.AnyOf != nil {
		s.AnyOf = append(slices.Clip(s.AnyOf), &jsonschema.Schema{Type: "null"})
	}
}

// YAML writes a value of a schema as a file holds it.
func YAML(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	text, err = yaml.JSONToYAML(text)
	return string(text), err
}
