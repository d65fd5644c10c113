package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"divisi/internal/spec"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// function is a tool made of a Go function.
type function[Args any] struct {
	declaration *genai.FunctionDeclaration
	checked     map[string]any
	effect      Effect
	run         func(ctx context.Context, args Args) Result
}

// New makes a tool of a function. The fields of Args are its arguments: the tag json names one, with omitempty it may be left out,
// and the tag jsonschema describes it. Args may have a method Doing() string, which describes a call in a few words; it is called
// on arguments that were not checked.
func New[Args any](name, description string, effect Effect, run func(ctx context.Context, args Args) Result) Tool {
	shown, checked := SchemaOf[Args]()
	return NewWith(name, description, effect, shown, checked, run)
}

// NewWith is New with schemas of the caller's: one that the model is shown, and one that its arguments are checked against.
func NewWith[Args any](
	name, description string, effect Effect, shown, checked map[string]any, run func(ctx context.Context, args Args) Result,
) Tool {
	return &function[Args]{
		&genai.FunctionDeclaration{Name: name, Description: description, ParametersJsonSchema: shown}, checked, effect, run,
	}
}

// enums are the types of arguments that have few values.
var enums = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[spec.IncludeContents](): {Type: "string", Enum: []any{string(spec.IncludeNone), string(spec.IncludeFull)}},
}

// SchemaOf is the JSON Schema of a struct, as a model is shown it and as arguments are checked against it: then unknown properties
// are refused. It panics for a type that JSON cannot hold.
func SchemaOf[Args any]() (shown, checked map[string]any) {
	schema, err := jsonschema.For[Args](&jsonschema.ForOptions{TypeSchemas: enums})
	if err != nil {
		panic(fmt.Sprintf("the arguments %T have no schema: %v", *new(Args), err))
	}
	data, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("write the schema of %T: %v", *new(Args), err))
	}
	if err := json.Unmarshal(data, &checked); err != nil {
		panic(fmt.Sprintf("read the schema of %T: %v", *new(Args), err))
	}
	withoutNull(checked)
	return lean(checked), checked
}

// withoutNull makes ["null", "array"], which jsonschema writes for every slice, an array: services refuse lists of types.
func withoutNull(schema map[string]any) {
	if types, ok := schema["type"].([]any); ok {
		schema["type"] = types[len(types)-1]
	}
	if items, ok := schema["items"].(map[string]any); ok {
		withoutNull(items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		if property, ok := p.(map[string]any); ok {
			withoutNull(property)
		}
	}
}

// lean is a schema that does not say that unknown properties are refused: a model is told when it names one.
func lean(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	if out["additionalProperties"] == false {
		delete(out, "additionalProperties")
	}
	if items, ok := out["items"].(map[string]any); ok {
		out["items"] = lean(items)
	}
	if properties, ok := out["properties"].(map[string]any); ok {
		properties = maps.Clone(properties)
		for name, p := range properties {
			if property, ok := p.(map[string]any); ok {
				properties[name] = lean(property)
			}
		}
		out["properties"] = properties
	}
	return out
}

// Declaration implements Tool.
func (f *function[Args]) Declaration() *genai.FunctionDeclaration { return f.declaration }

// Effect implements Tool.
func (f *function[Args]) Effect(Call) Effect { return f.effect }

func (f *function[Args]) argumentSchema() any { return f.checked }

// Doing implements Doer. An argument of a wrong type is left out.
func (f *function[Args]) Doing(call Call) string {
	args, _ := decode[Args](call.Args)
	if d, ok := any(args).(interface{ Doing() string }); ok {
		return d.Doing()
	}
	return ""
}

// Run implements Tool.
func (f *function[Args]) Run(ctx context.Context, call Call) Result {
	args, err := decode[Args](call.Args)
	if err != nil {
		return Failed("%s", misfit(call.Name, []string{err.Error()}))
	}
	return f.run(context.WithValue(ctx, callKey{}, call.ID), args)
}

// decode reads arguments. They fit the schema, so that only a number can be out of range.
func decode[Args any](from map[string]any) (args Args, err error) {
	data, err := json.Marshal(from)
	if err != nil {
		return args, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	err = json.Unmarshal(data, &args)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return args, fmt.Errorf("%s: a %s is no %s here", wrong.Field, wrong.Value, wrong.Type)
	}
	return args, err
}

type callKey struct{}

// CallID is the id of the call that a function made by New runs.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}
