package team

import (
	"context"

	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

// The tools with which the master leads its tasks. A role with dispatch has them; they are not listed.
const (
	Send   = "send"
	Revise = "revise"
	Cancel = "cancel"
)

// Lead are their names.
var Lead = []string{Send, Revise, Cancel}

// leadTools are the tools of a master.
func (t *tools) leadTools() []tool.Tool {
	return []tool.Tool{
		tool.New(Send,
			"Message the agent of a task, answer its question, or decide about its held patch: accept approves it, else it is "+
				"rejected and text is the reason. This starts no task.",
			tool.Waits, t.send),
		tool.New(Revise,
			"Change a task that has not landed, or all such shards of a template; omitted fields stay. It restarts "+
				"with fresh attempts, even if parked, and so do tasks that were parked because of it.",
			tool.Waits, t.revise),
		tool.New(Cancel, "Cancel for good a task that the goal does not need.", tool.Waits, t.cancel),
	}
}

type sendArgs struct {
	Task   string `json:"task"`
	Text   string `json:"text,omitempty"`
	Accept bool   `json:"accept,omitempty"`
}

// Doing describes the call.
func (a sendArgs) Doing() string { return "writes to " + a.Task }

func (t *tools) send(ctx context.Context, a sendArgs) tool.Result {
	return t.lead(ctx, wire.Request{Kind: wire.RequestSend, Task: a.Task, Text: a.Text, Accept: a.Accept})
}

type reviseArgs struct {
	Task        string   `json:"task" jsonschema:"id of a task or template"`
	Brief       string   `json:"brief,omitempty" jsonschema:"the whole new brief"`
	Files       []string `json:"files,omitempty" jsonschema:"the whole new write set"`
	Constraints []string `json:"constraints,omitempty"`
}

// Doing describes the call.
func (a reviseArgs) Doing() string { return "revises " + a.Task }

func (t *tools) revise(ctx context.Context, a reviseArgs) tool.Result {
	return t.lead(ctx, wire.Request{
		Kind: wire.RequestRevise, Task: a.Task, Brief: a.Brief, Files: a.Files, Constraints: a.Constraints,
	})
}

type cancelArgs struct {
	Task   string `json:"task"`
	Reason string `json:"reason"`
}

// Doing describes the call.
func (a cancelArgs) Doing() string { return "cancels " + a.Task }

func (t *tools) cancel(ctx context.Context, a cancelArgs) tool.Result {
	return t.lead(ctx, wire.Request{Kind: wire.RequestCancel, Task: a.Task, Reason: a.Reason})
}

// lead puts a request of the master and returns what becomes of it.
func (t *tools) lead(ctx context.Context, r wire.Request) tool.Result {
	return t.request(ctx, r, func(answer wire.Answer) tool.Result { return tool.Text(answer.Text) })
}
