// Package team holds the tools by which an agent speaks to others: delegate, transfer, ask, request_scope and send put
// requests to the conductor and wait for its answer, update_plan keeps the agent's own plan, and submit_result ends the
// attempt. Their input is a requester, the roles that can be named and the constraints of the task; their output is a
// request, a plan or a handoff. They never decide a request themselves.
package team

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

// Requester puts an agent's requests to the conductor.
type Requester interface {
	// Request waits for the answer to a request. The same call, in another delivery too, waits for the same answer, and asks
	// nothing twice. The error is the cause of ctx, or the log's.
	Request(ctx context.Context, call string, r wire.Request) (wire.Answer, error)
}

// Config holds the tools' knowledge of the task. Tools that are only declared need no more than Roles, Output and Constrained.
type Config struct {
	Requester Requester
	// Roles are those that the agent can name.
	Roles []wire.Callee
	// Grow is given the paths that request_scope was granted, and those of them that are protected.
	Grow func(paths, unlocked []string)
	// Output is the role's own schema of its result; may be empty.
	Output json.RawMessage
	// Constraints are those of the task, each once: submit_result asks for an echo of each.
	Constraints []string
	// Named finds the handle of an artifact that the agent knows by a name; "" for none. May be nil.
	Named func(name string) string
	// Artifacts reports which handles others can read; nil means that they are taken as they are.
	Artifacts tool.ArtifactReader
}

// Tools returns the tools. The error is one of the role's schema.
func Tools(c Config) ([]tool.Tool, error) {
	t := &tools{c}
	submit, err := t.submitTool()
	if err != nil {
		return nil, err
	}
	return append([]tool.Tool{
		submit,
		tool.New(spec.ToolUpdatePlan, "Plan big work: items begin done:, doing:, todo:", tool.Reads, t.updatePlan),
		tool.New(spec.ToolDelegate,
			"Have another role do a piece of work and wait for its handoff. It sees only the brief, not "+
				"this conversation, unless include_contents is full. Its tokens count as yours. "+callees(c.Roles),
			tool.Waits, t.delegate),
		tool.New(spec.ToolTransfer,
			"Transfer your whole task to another role, with your work tree and conversation, and end. Only if "+
				"the task belongs to that role. "+callees(c.Roles), tool.Waits, t.transfer),
		tool.New(spec.ToolAsk,
			"Ask the master or a person, and wait, perhaps long. Only if you can neither find out nor decide. One "+
				"question a call.", tool.Asks, t.ask),
		tool.New(spec.ToolRequestScope, "Ask for more files that you may write. If refused, name them in deviations.", tool.Asks,
			t.requestScope),
	}, t.leadTools()...), nil
}

type tools struct{ Config }

// callees lists the roles that can be named. It is the same for all tasks of a role.
func callees(roles []wire.Callee) string {
	if len(roles) == 0 {
		return "No role can be named."
	}
	var b strings.Builder
	b.WriteString("The roles:")
	for _, r := range roles {
		fmt.Fprintf(&b, "\n- %s", r.Name)
		if r.Writes {
			b.WriteString(" (writes)")
		}
		if r.Description != "" {
			b.WriteString(": " + text.OneLine(r.Description))
		}
	}
	return b.String()
}

// request puts a request and makes the result of its answer, unless it was refused.
func (t *tools) request(ctx context.Context, r wire.Request, tell func(wire.Answer) tool.Result) tool.Result {
	answer, err := t.Requester.Request(ctx, tool.CallID(ctx), r)
	switch {
	case err != nil:
		return tool.Failed("there is no answer: %v", err)
	case answer.Refused != "":
		return tool.Failed("%s", answer.Refused)
	}
	return tell(answer)
}
