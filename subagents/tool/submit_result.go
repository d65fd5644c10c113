package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed submit_result.md
var submitResultText string

// maxHandoff bounds, in bytes of JSON, what is handed over. It is refused above that, never cut: handoffs go whole to whoever
// asks for them.
const maxHandoff = 128 << 10

// submitResult ends an attempt. The role's own schema describes the argument output. A task with constraints wants each of
// them echoed.
type submitResult struct {
	shown, checked map[string]any
	constraints    []string
	// artifacts may be nil: then handles are taken as they are.
	artifacts ArtifactReader
}

func newSubmitResult(output json.RawMessage, constraints []string) (*submitResult, error) {
	shown, err := submitSchema(output, len(constraints) > 0, false)
	if err != nil {
		return nil, err
	}
	checked, err := submitSchema(output, len(constraints) > 0, true)
	if err != nil {
		return nil, err
	}
	return &submitResult{shown: shown, checked: checked, constraints: constraints}, nil
}

// submitSchema writes the schema of the arguments. To check them, the role's schema becomes a resource of its own, so that
// references in it keep their meaning; and missing echoes are left to Run, which can say which.
func submitSchema(output json.RawMessage, constrained, check bool) (map[string]any, error) {
	props := properties{
		"summary":    property("string", "What was done or found, in a few sentences, for someone who sees nothing else."),
		"findings":   textList("Facts that others need, one each, with places (path:line)."),
		"deviations": textList("Where you departed from the brief, or left something undone, and why. Empty if nowhere."),
		"artifacts":  textList("Handles of artifacts that others should see."),
	}
	required := []string{"summary"}
	if constrained {
		props["constraints"] = echoSchema()
	}
	if constrained && !check {
		required = append(required, "constraints")
	}
	if len(output) > 0 {
		own := map[string]any{}
		if err := json.Unmarshal(output, &own); err != nil {
			return nil, fmt.Errorf("read the role's output schema: %w", err)
		}
		own = maps.Clone(own)
		if _, named := own["$id"]; check && !named {
			own["$id"] = "role:output"
		}
		props["output"] = own
		required = append(required, "output")
	}
	return object(props, required...), nil
}

// echoSchema does not hold the constraints themselves: what is declared stays the same for all tasks of a role that have some.
func echoSchema() map[string]any {
	list := property("array", "One entry for each constraint of the task, by its number.")
	list["items"] = object(properties{
		"number": property("integer", "The number of the constraint in the task."),
		"text":   property("string", "The constraint word for word, where you do not give its number."),
		"kept":   property("boolean", "Whether it is kept, everywhere."),
		"note":   property("string", "Needed where it is not kept: where and why. Else how it can be seen."),
	}, "kept")
	return list
}

func (t *submitResult) argumentSchema() any { return t.checked }

// Declaration is what the model is told.
func (t *submitResult) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolSubmitResult, Description: submitResultText, ParametersJsonSchema: t.shown,
	}
}

// Effect is Writes: what the result says must come after everything else of its turn.
func (t *submitResult) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *submitResult) Doing(Call) string { return "submitting its result" }

// Run carries out one call.
func (t *submitResult) Run(ctx context.Context, call Call) Result {
	submission := &spec.Handoff{
		Summary: strings.TrimSpace(call.text("summary")), Findings: call.texts("findings"),
		Deviations: call.texts("deviations"), Artifacts: call.texts("artifacts"),
	}
	if submission.Summary == "" {
		return Failed("the summary is empty: say in a few sentences what was done or found")
	}
	echoes, faults := t.echoes(call.Args["constraints"])
	faults = append(faults, t.unreadable(ctx, submission.Artifacts)...)
	if len(faults) > 0 {
		return Failed("nothing was submitted; put right:\n- %s", strings.Join(faults, "\n- "))
	}
	submission.Constraints = echoes
	if output, ok := call.Args["output"]; ok {
		text, err := json.Marshal(output)
		if err != nil {
			return Failed("output cannot be written as JSON: %v", err)
		}
		submission.Output = text
	}
	if text, err := json.Marshal(submission); err != nil || len(text) > maxHandoff {
		return Failed("the result has %d bytes, and at most %d are taken: nothing was submitted. Others read it whole, so keep "+
			"to what they need, and name places (path:line) in place of long text", len(text), maxHandoff)
	}
	result := Text("the result was taken; the task is over")
	result.Submit, result.Ends = submission, true
	return result
}

// unreadable names the handles behind which there is nothing: better told now than to the task that will ask for them.
func (t *submitResult) unreadable(ctx context.Context, handles []string) (faults []string) {
	for _, h := range handles {
		if t.artifacts == nil {
			break
		}
		if _, err := t.artifacts.Get(ctx, h); err != nil {
			faults = append(faults, fmt.Sprintf("artifact %q cannot be read by others: give a handle as a tool gave it to you, "+
				"and name files in findings", short(h, 200)))
		}
	}
	return faults
}

// echoes reads what the agent says of the constraints: each once, in the task's order.
func (t *submitResult) echoes(arg any) (echoes []spec.ConstraintEcho, faults []string) {
	said := make([]*spec.ConstraintEcho, len(t.constraints))
	list, _ := arg.([]any)
	for i, e := range list {
		item := Call{}
		item.Args, _ = e.(map[string]any)
		n := t.constraint(item)
		note := strings.TrimSpace(item.text("note"))
		switch {
		case n < 0:
			faults = append(faults, fmt.Sprintf("constraints[%d] is none of the task's constraints; they are numbered 1 to %d",
				i, len(t.constraints)))
			continue
		case said[n] != nil:
			faults = append(faults, fmt.Sprintf("constraints[%d]: constraint %d is there twice", i, n+1))
		case !item.flag("kept") && note == "":
			faults = append(faults, fmt.Sprintf("constraints[%d]: constraint %d is not kept, and no note says why", i, n+1))
		}
		said[n] = &spec.ConstraintEcho{Text: t.constraints[n], Kept: item.flag("kept"), Note: note}
	}
	for n, echo := range said {
		if echo == nil {
			text := short(t.constraints[n], 200)
			faults = append(faults, fmt.Sprintf("constraints says nothing of constraint %d: %s", n+1, text))
			continue
		}
		echoes = append(echoes, *echo)
	}
	return echoes, faults
}

// constraint returns the index of the constraint that an entry names, by number or else word for word; -1 for none.
func (t *submitResult) constraint(item Call) int {
	if _, numbered := item.Args["number"]; numbered {
		n := item.number("number", 0) - 1
		if n < 0 || n >= len(t.constraints) {
			return -1
		}
		return n
	}
	text := strings.TrimSpace(item.text("text"))
	return slices.IndexFunc(t.constraints, func(c string) bool { return strings.TrimSpace(c) == text })
}
