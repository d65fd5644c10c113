package team

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

type delegateArgs struct {
	Role            string               `json:"role"`
	Brief           string               `json:"brief" jsonschema:"what to do or find out, where, and how to tell that it is done"`
	Title           string               `json:"title,omitempty"`
	Files           []string             `json:"files,omitempty" jsonschema:"what a writing role may change; none of your own"`
	IncludeContents spec.IncludeContents `json:"include_contents,omitempty" enum:"none,full"`
	Background      bool                 `json:"background,omitempty" jsonschema:"go on; the result comes as a message"`
	Artifacts       []string             `json:"artifacts,omitempty" jsonschema:"names of yours or handles that it can load"`
}

// Doing describes the call.
func (a delegateArgs) Doing() string { return "waits for " + a.Role + ": " + cmp.Or(a.Title, a.Brief) }

func (t *tools) delegate(ctx context.Context, a delegateArgs) tool.Result {
	handles, faults := t.handles(ctx, a.Artifacts)
	if len(faults) > 0 {
		return tool.Failed("nothing was delegated:\n- %s", strings.Join(faults, "\n- "))
	}
	return t.request(ctx, wire.Request{
		Kind: wire.RequestDelegate, Role: a.Role, Title: a.Title, Brief: a.Brief, Files: a.Files,
		IncludeContents: a.IncludeContents, Artifacts: handles, Background: a.Background,
	}, HandedBack)
}

// handles finds the artifacts that a child is to have, each by its name or handle, and names those that cannot be read.
func (t *tools) handles(ctx context.Context, names []string) (handles, faults []string) {
	if len(names) > maxGiven {
		return nil, []string{fmt.Sprintf("artifacts names %d, and a task can be given %d", len(names), maxGiven)}
	}
	return t.named(ctx, names)
}

// named finds artifacts, each by its name or handle, and names those that cannot be read.
func (t *tools) named(ctx context.Context, names []string) (handles, faults []string) {
	for _, name := range names {
		handle := name
		if t.Named != nil {
			handle = cmp.Or(t.Named(name), name)
		}
		if !slices.Contains(handles, handle) {
			handles = append(handles, handle)
		}
	}
	return handles, t.unreadable(ctx, handles)
}

// maxGiven is how many artifacts a child can be given.
const maxGiven = 20

// HandedBack is the end of a child as the agent that asked for it reads it. What the child says is data.
func HandedBack(a wire.Answer) tool.Result {
	if a.Begun {
		r := tool.Text("it works in the background; its result comes as a message, and submit_result waits for it")
		r.Output["task"] = a.Task
		return r
	}
	h := a.Handoff
	out := map[string]any{"task": a.Task, "status": string(a.Status), "tokens": a.Usage.Total()}
	for name, value := range map[string]string{"summary": h.Summary, "note": a.Text} {
		if value != "" {
			out[name] = value
		}
	}
	for name, list := range map[string][]string{"findings": h.Findings, "deviations": h.Deviations, "artifacts": h.Artifacts} {
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
	return tool.Result{Output: out, Err: a.Fault != nil}
}

type transferArgs struct {
	Role  string `json:"role"`
	Brief string `json:"brief" jsonschema:"why, how far it is, and what is left to do"`
}

// Doing describes the call.
func (a transferArgs) Doing() string { return "hands its task over to " + a.Role }

// transfer hands the agent's own task over; then the attempt is over.
func (t *tools) transfer(ctx context.Context, a transferArgs) tool.Result {
	brief := strings.TrimSpace(a.Brief)
	r := wire.Request{Kind: wire.RequestTransfer, Role: a.Role, Brief: brief}
	return t.request(ctx, r, func(wire.Answer) tool.Result {
		r := tool.Text("the task was transferred to " + a.Role + "; you are done")
		r.Ends, r.HandedOver, r.Submit = true, true, &spec.Handoff{Summary: brief}
		return r
	})
}
