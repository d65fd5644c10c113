package subagents

import (
	"cmp"
	"strings"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// Call is how an agent's model is called, besides what it is shown.
type Call struct {
	// Model is the provider's name of the model.
	Model string
	// Thinking is LOW, MEDIUM or HIGH; empty leaves it to the model.
	Thinking  string
	MaxOutput int
}

// callOf returns how the model of an assignment's role is called.
func callOf(a *wire.Assignment) Call {
	settings := a.Project.Model(a.Role.Model)
	return Call{Model: a.Project.ModelName(a.Role.Model), Thinking: settings.Thinking, MaxOutput: settings.MaxOutput}
}

// WindowOf is how many tokens a request to a model may have: as the project says, else as is known of it.
func WindowOf(p *spec.Project, name string) int {
	settings := p.Model(name)
	if settings.Window == 0 {
		info := model.Lookup(p.ModelName(name))
		settings.Window, settings.MaxOutput = info.Window, cmp.Or(settings.MaxOutput, info.MaxOutput)
	}
	return spec.UsableWindow(settings)
}

// request makes a model request of a compiled one. On the last turn only submit_result is offered for calling.
func (c Call) request(compiled contextscope.Request, a *wire.Assignment, turn int, b Bounds) *model.Request {
	config := &genai.GenerateContentConfig{
		SystemInstruction: compiled.System, Tools: compiled.Tools, MaxOutputTokens: int32(c.MaxOutput),
	}
	if c.Thinking != "" {
		config.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(c.Thinking))}
	}
	if turn == b.Turns {
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{spec.ToolSubmitResult},
		}}
	}
	return &model.Request{
		Model: c.Model, Contents: compiled.Contents, Config: config,
		Meta: model.Meta{Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt, Turn: turn, Purpose: "turn"},
	}
}
