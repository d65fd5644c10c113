package tool

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

//go:embed delegate.md
var delegateText string

// delegate has another role do a task of its own.
type delegate struct {
	requests
	roles []wire.Callee
}

// Declaration is what the model is told.
func (t *delegate) Declaration() *genai.FunctionDeclaration {
	scope := property("string", "How much of your conversation it inherits: none (default) or full.")
	scope["enum"] = []any{string(spec.IncludeNone), string(spec.IncludeFull)}
	return &genai.FunctionDeclaration{
		Name: spec.ToolDelegate, Description: delegateText + callees(t.roles),
		ParametersJsonSchema: object(properties{
			"role":             property("string", "The role that does it."),
			"brief":            property("string", "What is to be done or found out, where, and how to tell that it is done."),
			"title":            property("string", "A few words for the people who watch."),
			"files":            textList("For a role that writes: the paths and globs that it may change; none of your own."),
			"include_contents": scope,
		}, "role", "brief"),
	}
}

// callees lists the roles that can be named. It is the same for all tasks of a role.
func callees(roles []wire.Callee) string {
	if len(roles) == 0 {
		return "There is no role that you could name."
	}
	var b strings.Builder
	b.WriteString("The roles:")
	for _, r := range roles {
		fmt.Fprintf(&b, "\n- %s", r.Name)
		if r.Writes {
			b.WriteString(" (writes)")
		}
		if r.Description != "" {
			b.WriteString(": " + printable(r.Description))
		}
	}
	return b.String()
}

// Doing names what the call is about.
func (t *delegate) Doing(call Call) string {
	return "waits for " + call.text("role") + ": " + cmp.Or(call.text("title"), call.text("brief"))
}

// Run carries out one call.
func (t *delegate) Run(ctx context.Context, call Call) Result {
	return t.request(ctx, call, wire.Request{
		Kind: wire.RequestDelegate, Role: call.text("role"), Title: call.text("title"), Brief: call.text("brief"),
		Files: call.texts("files"), IncludeContents: spec.IncludeContents(call.text("include_contents")),
	}, handedBack)
}

// handedBack is the end of a child as the agent that asked for it reads it. What the child says is data.
func handedBack(a wire.Answer) Result {
	h := a.Handoff
	out := map[string]any{"task": a.Task, "status": string(a.Status), "tokens": a.Usage.Total()}
	if h.Summary != "" {
		out["summary"] = h.Summary
	}
	for name, list := range map[string][]string{
		"findings": h.Findings, "deviations": h.Deviations, "artifacts": h.Artifacts,
	} {
		if len(list) > 0 {
			out[name] = list
		}
	}
	if broken := h.Broken(); len(broken) > 0 {
		out["broken_constraints"] = broken
	}
	if len(h.Output) > 0 {
		out["result"] = h.Output
	}
	if a.Fault != nil {
		out["error"] = a.Fault.Class + ": " + a.Fault.Message
	}
	if a.Text != "" {
		out["note"] = a.Text
	}
	return Result{Output: out, Err: a.Fault != nil}
}
