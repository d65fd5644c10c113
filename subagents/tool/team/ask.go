package team

import (
	"context"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

type planArgs struct {
	Items []string `json:"items"`
}

// Doing describes the call.
func (planArgs) Doing() string { return "updating its plan" }

// updatePlan has no effect but its result, which the attempt's events keep.
func (t *tools) updatePlan(_ context.Context, a planArgs) tool.Result {
	steps, err := spec.ReadSteps(a.Items)
	if err != nil {
		return tool.Failed("the plan stays as it was:\n%v", err)
	}
	r := tool.Text("noted")
	r.Steps = steps
	return r
}

type askArgs struct {
	Question string   `json:"question" jsonschema:"with all that a reader needs who has not seen your work"`
	Options  []string `json:"options,omitempty" jsonschema:"the possible answers, if few"`
}

// Doing describes the call.
func (a askArgs) Doing() string { return "asks: " + a.Question }

func (t *tools) ask(ctx context.Context, a askArgs) tool.Result {
	question := strings.TrimSpace(a.Question)
	if question == "" {
		return tool.Failed("the question is empty")
	}
	r := wire.Request{Kind: wire.RequestAsk, Question: question, Options: a.Options}
	return t.request(ctx, r, func(answer wire.Answer) tool.Result {
		r := tool.Text(answer.Text)
		r.Output["from"] = wire.Speaker(answer.From)
		return r
	})
}

type scopeArgs struct {
	Paths  []string `json:"paths" jsonschema:"paths or globs"`
	Reason string   `json:"reason"`
}

// Doing describes the call.
func (a scopeArgs) Doing() string { return "asks to write " + strings.Join(a.Paths, ", ") }

// requestScope asks for more of the repository. What was granted can be written from then on.
func (t *tools) requestScope(ctx context.Context, a scopeArgs) tool.Result {
	r := wire.Request{Kind: wire.RequestScope, Paths: a.Paths, Reason: a.Reason}
	return t.request(ctx, r, func(answer wire.Answer) tool.Result {
		t.Grow(answer.Granted, answer.Unlocked)
		return tool.Text(answer.Text)
	})
}
