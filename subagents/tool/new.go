package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"divisi/internal/spec"

	"google.golang.org/genai"
)

// function is a tool made of a Go function.
type function[Args any] struct {
	declaration *genai.FunctionDeclaration
	checked     map[string]any
	effect      Effect
	run         func(ctx context.Context, args Args) Result
}

// New makes a tool of a function. The fields of Args are its arguments, with the tags of spec.Schema. Args may have a
// method Doing() string, which describes a call in a few words; it is called on arguments that were not checked.
func New[Args any](name, description string, effect Effect, run func(ctx context.Context, args Args) Result) Tool {
	shown, checked := spec.Declaration[Args]()
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
