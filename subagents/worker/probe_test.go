package worker

import (
	"context"
	"encoding/json"
	"strings"

	"divisi/contextscope"
	"divisi/subagents/tool"

	"google.golang.org/genai"
)

// probe is a tool for tests.
type probe struct {
	name     string
	readOnly bool
	run      func(ctx context.Context, call tool.Call) tool.Result
}

func (p *probe) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: p.name, Description: "a probe", ParametersJsonSchema: map[string]any{"type": "object"},
	}
}

func (p *probe) Effect(tool.Call) tool.Effect {
	if p.readOnly {
		return tool.Reads
	}
	return tool.Writes
}

func (p *probe) Run(ctx context.Context, call tool.Call) tool.Result { return p.run(ctx, call) }

func kinds(events []contextscope.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

func decodeAs[T any](e *contextscope.Event, apply func(T)) error {
	var d T
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	apply(d)
	return nil
}
