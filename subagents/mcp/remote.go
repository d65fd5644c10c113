package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"divisi/internal/text"
	"divisi/subagents/tool"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"
)

// remote is one tool of a server. It implements tool.Tool and tool.Doer.
type remote struct {
	server      *server
	name        string
	declaration *genai.FunctionDeclaration
	effect      tool.Effect
}

func newRemote(s *server, name string, t *sdk.Tool) *remote {
	schema, arguments := clean(t.InputSchema)
	r := &remote{server: s, name: t.Name, effect: tool.Writes, declaration: &genai.FunctionDeclaration{
		Name: name, Description: description(s.name, t.Description, arguments), ParametersJsonSchema: schema,
	}}
	if t.Annotations != nil && t.Annotations.ReadOnlyHint {
		r.effect = tool.Reads
	}
	return r
}

// Declaration implements tool.Tool.
func (r *remote) Declaration() *genai.FunctionDeclaration { return r.declaration }

// Effect implements tool.Tool. That a tool only reads is the server's own word. It decides what may run beside the call, and
// nothing else: what is in the tree at the end is judged whatever put it there, and a program that may not write cannot.
func (r *remote) Effect(tool.Call) tool.Effect { return r.effect }

// Doing implements tool.Doer.
func (r *remote) Doing(call tool.Call) string {
	args, err := json.Marshal(call.Args)
	if err != nil || len(call.Args) == 0 {
		args = nil
	}
	return fmt.Sprintf("%s: %s %s", r.server.name, oneLine(r.name), text.Short(string(args), maxName))
}

// Run implements tool.Tool.
func (r *remote) Run(ctx context.Context, call tool.Call) tool.Result {
	result, err := r.server.call(ctx, r.name, call.Args)
	if err != nil {
		return tool.Failed("%s", visible(err.Error()))
	}
	if result.NeedsInput() {
		return tool.Failed("the MCP server %s asks for something before it answers, and Divisi gives servers nothing but calls",
			r.server.name)
	}
	return r.server.hidden(resultOf(result))
}

// hidden takes what the server was dispatched of a result.
func (s *server) hidden(r tool.Result) tool.Result {
	for key, value := range r.Output {
		if text, ok := value.(string); ok {
			r.Output[key] = s.vars.hide(text)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			continue // the guard says so
		}
		if hid := s.vars.hide(string(text)); hid != string(text) {
			r.Output[key] = hid
		}
	}
	return r
}

// shown are names as a person reads them, not too many.
func shown(names map[string]string) []string {
	const most = 20
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, fmt.Sprintf("%q", text.Short(name, maxName)))
	}
	return text.Few(out, most)
}
