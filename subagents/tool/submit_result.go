package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed submit_result.md
var submitResultText string

// submitResult ends an attempt. The role's own schema describes the argument output.
type submitResult struct {
	shown, checked map[string]any
}

func newSubmitResult(output json.RawMessage) (*submitResult, error) {
	shown, err := submitSchema(output, false)
	if err != nil {
		return nil, err
	}
	checked, err := submitSchema(output, true)
	if err != nil {
		return nil, err
	}
	return &submitResult{shown, checked}, nil
}

// submitSchema writes the schema of the arguments. To check them, the role's schema becomes a resource of its own, so that
// references in it keep their meaning.
func submitSchema(output json.RawMessage, check bool) (map[string]any, error) {
	props := properties{
		"summary":    property("string", "What was done or found, in a few sentences, for someone who sees nothing else."),
		"findings":   textList("Facts that others need, one each, with places (path:line)."),
		"deviations": textList("Where you departed from the brief, or left something undone, and why. Empty if nowhere."),
		"artifacts":  textList("Handles of artifacts that others should see."),
	}
	required := []string{"summary"}
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

func (t *submitResult) argumentSchema() any { return t.checked }

// Declaration is what the model is told.
func (t *submitResult) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolSubmitResult, Description: submitResultText, ParametersJsonSchema: t.shown,
	}
}

// ReadOnly is false: what the result says must come after everything else of its turn.
func (t *submitResult) ReadOnly() bool { return false }

// Doing names what the call is about.
func (t *submitResult) Doing(Call) string { return "submitting its result" }

// Run carries out one call.
func (t *submitResult) Run(_ context.Context, call Call) Result {
	submission := &Submission{
		Summary: strings.TrimSpace(call.text("summary")), Findings: call.texts("findings"),
		Deviations: call.texts("deviations"), Artifacts: call.texts("artifacts"),
	}
	if submission.Summary == "" {
		return Failed("the summary is empty: say in a few sentences what was done or found")
	}
	if output, ok := call.Args["output"]; ok {
		text, err := json.Marshal(output)
		if err != nil {
			return Failed("output cannot be written as JSON: %v", err)
		}
		submission.Output = text
	}
	result := Text("the result was taken; the task is over")
	result.Submit, result.Ends = submission, true
	return result
}
