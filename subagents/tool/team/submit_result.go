package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"
)

// maxHandoff bounds, in bytes of JSON, what is handed over. Above that it is refused, never cut: tasks that ask for a
// handoff get it whole.
const maxHandoff = 128 << 10

type submitArgs struct {
	Summary     string          `json:"summary" jsonschema:"what was done or found; others see nothing else"`
	Findings    []string        `json:"findings,omitempty" jsonschema:"facts for others, with places (path:line)"`
	Deviations  []string        `json:"deviations,omitempty" jsonschema:"departures from the brief, and why"`
	Artifacts   []string        `json:"artifacts,omitempty" jsonschema:"handles or saved names"`
	Constraints []echoArgs      `json:"constraints,omitempty" jsonschema:"an entry for each"`
	Output      json.RawMessage `json:"output,omitempty"`
}

type echoArgs struct {
	Number *int   `json:"number,omitempty"`
	Text   string `json:"text,omitempty" jsonschema:"verbatim, without number"`
	Kept   bool   `json:"kept"`
	Note   string `json:"note,omitempty" jsonschema:"if not kept: where and why"`
}

// Doing describes the call.
func (submitArgs) Doing() string { return "submitting its result" }

// submitTool is submit_result with the role's own schema as the argument output. The agent runs it after
// everything else of its turn.
func (t *tools) submitTool() (tool.Tool, error) {
	shown, err := t.submitSchema(false)
	if err != nil {
		return nil, err
	}
	checked, err := t.submitSchema(true)
	if err != nil {
		return nil, err
	}
	return tool.NewWith(spec.ToolSubmitResult, "End the task with your result. It runs last in a turn, unless an edit, command "+
		"or gate failed. An honest partial result is worth more than a claim.",
		tool.Writes, shown, checked, t.submit), nil
}

// submitSchema writes the schema of the arguments. To check them, the role's schema becomes a resource of its own, so that
// references in it keep their meaning; and missing echoes are left to submit, which can tell which. It does not hold the
// constraints themselves: what is declared stays the same for all tasks of a role that have some.
func (t *tools) submitSchema(check bool) (map[string]any, error) {
	schema, checked := spec.Declaration[submitArgs]()
	if check {
		schema = checked
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil, errors.New("the arguments of submit_result have no properties")
	}
	required := []any{"summary"}
	switch {
	case len(t.Constraints) == 0:
		delete(properties, "constraints")
	case !check:
		required = append(required, "constraints")
	}
	delete(properties, "output")
	if len(t.Output) > 0 {
		own := map[string]any{}
		if err := json.Unmarshal(t.Output, &own); err != nil {
			return nil, fmt.Errorf("read the role's output schema: %w", err)
		}
		own = maps.Clone(own)
		if _, named := own["$id"]; check && !named {
			own["$id"] = "role:output"
		}
		properties["output"] = own
		required = append(required, "output")
	}
	schema["required"] = required
	return schema, nil
}

func (t *tools) submit(ctx context.Context, a submitArgs) tool.Result {
	h := &spec.Handoff{
		Summary: strings.TrimSpace(a.Summary), Findings: a.Findings, Deviations: a.Deviations, Output: a.Output,
	}
	if h.Summary == "" {
		return tool.Failed("the summary is empty: describe your work or findings in a few sentences")
	}
	echoes, faults := t.echoes(a.Constraints)
	handles, unreadable := t.named(ctx, a.Artifacts)
	if faults = append(faults, unreadable...); len(faults) > 0 {
		return tool.Failed("nothing was submitted; fix:\n- %s", strings.Join(faults, "\n- "))
	}
	h.Constraints, h.Artifacts = echoes, handles
	if data, err := json.Marshal(h); err != nil || len(data) > maxHandoff {
		return tool.Failed("the result has %d bytes; at most %d are allowed: nothing was submitted. Others read it whole: "+
			"keep it short, and name places (path:line) instead of long text", len(data), maxHandoff)
	}
	result := tool.Text("the result was accepted; the task is over")
	result.Submit, result.Ends = h, true
	return result
}

// unreadable names the handles that lead nowhere: the author can correct them, the task that asks for them cannot.
func (t *tools) unreadable(ctx context.Context, handles []string) (faults []string) {
	if t.Artifacts == nil {
		return nil
	}
	for _, h := range handles {
		if _, err := t.Artifacts.Get(ctx, h); err != nil {
			faults = append(faults, fmt.Sprintf("artifact %q cannot be read by others: give a handle as a tool gave it to you, "+
				"or the name that you saved it under, and name files in your words", text.Short(h, 200)))
		}
	}
	return faults
}

// echoes reads what the agent says of the constraints: each once, in the task's order.
func (t *tools) echoes(args []echoArgs) (echoes []spec.ConstraintEcho, faults []string) {
	said := make([]*spec.ConstraintEcho, len(t.Constraints))
	for i, item := range args {
		n := t.constraint(item)
		note := strings.TrimSpace(item.Note)
		switch {
		case n < 0:
			faults = append(faults, fmt.Sprintf("constraints[%d] is none of the task's constraints; they are numbered 1 to %d",
				i, len(t.Constraints)))
			continue
		case said[n] != nil:
			faults = append(faults, fmt.Sprintf("constraints[%d]: constraint %d is there twice", i, n+1))
		case !item.Kept && note == "":
			faults = append(faults, fmt.Sprintf("constraints[%d]: constraint %d is not kept, and has no note", i, n+1))
		}
		said[n] = &spec.ConstraintEcho{Text: t.Constraints[n], Kept: item.Kept, Note: note}
	}
	for n, echo := range said {
		if echo == nil {
			rule := text.Short(t.Constraints[n], 200)
			faults = append(faults, fmt.Sprintf("constraints says nothing of constraint %d: %s", n+1, rule))
			continue
		}
		echoes = append(echoes, *echo)
	}
	return echoes, faults
}

// constraint returns the index of the constraint that an entry names, by number or else word for word; -1 for none.
func (t *tools) constraint(item echoArgs) int {
	if item.Number != nil {
		if n := *item.Number - 1; n >= 0 && n < len(t.Constraints) {
			return n
		}
		return -1
	}
	said := strings.TrimSpace(item.Text)
	return slices.IndexFunc(t.Constraints, func(c string) bool { return strings.TrimSpace(c) == said })
}
