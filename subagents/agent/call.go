package agent

import (
	"cmp"
	"fmt"
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
	// Thinking is MINIMAL, LOW, MEDIUM or HIGH; empty leaves it to the model.
	Thinking  string
	MaxOutput int
	// Tier is standard or priority; empty leaves it to the service.
	Tier string
	// Fallback are the models that are in, in their order, while Model is overloaded.
	Fallback []model.Candidate
}

// CallOf returns how the model of an assignment's role is called.
func CallOf(a *wire.Assignment) Call { return callFor(&a.Project, &a.Role) }

// callFor returns how the model of a role is called: as the role says, else as its model's alias does.
func callFor(p *spec.Project, role *spec.Role) Call {
	settings := p.Model(role.Model)
	c := Call{
		Model: p.ModelName(role.Model), Thinking: cmp.Or(role.Thinking, settings.Thinking), MaxOutput: settings.MaxOutput,
		Tier: cmp.Or(role.Tier, settings.Tier), Fallback: FallbackOf(p, role.Model),
	}
	if len(role.Fallback) > 0 {
		c.Fallback = choices(p, role.Fallback)
	}
	for i := range c.Fallback {
		c.Fallback[i].Tier = cmp.Or(role.Tier, c.Fallback[i].Tier)
		if role.Thinking != "" {
			c.Fallback[i].Thinking = "" // the role's own, as near as the model takes it
		}
	}
	return c
}

// CheckRole faults what a role asks of its model that the model is known not to do.
func CheckRole(p *spec.Project, role *spec.Role) error {
	call := callFor(p, role)
	req := call.request(contextscope.Request{Contents: []*genai.Content{userText("?")}}, &wire.Assignment{}, 1, false)
	if err := model.Validate(req); err != nil {
		return fmt.Errorf("role %s: %w", role.Name, err)
	}
	return nil
}

// FallbackOf is the chain of a model, an alias or a name, as the project says.
func FallbackOf(p *spec.Project, name string) []model.Candidate {
	return choices(p, p.Model(name).Fallback)
}

func choices(p *spec.Project, names []string) []model.Candidate {
	out := make([]model.Candidate, 0, len(names))
	for _, name := range names {
		settings := p.Model(name)
		out = append(out, model.Candidate{
			Model: p.ModelName(name), Thinking: settings.Thinking, MaxOutput: settings.MaxOutput, Tier: settings.Tier,
			Window: WindowOf(p, name),
		})
	}
	return out
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

// request makes a model request of a compiled one. With last, submit_result alone can be called.
func (c Call) request(compiled contextscope.Request, a *wire.Assignment, turn int, last bool) *model.Request {
	config := &genai.GenerateContentConfig{
		SystemInstruction: compiled.System, Tools: compiled.Tools, MaxOutputTokens: int32(c.MaxOutput),
		ServiceTier: genai.ServiceTier(c.Tier),
	}
	if c.Thinking != "" {
		config.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(c.Thinking))}
	}
	if last {
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{spec.ToolSubmitResult},
		}}
	}
	return &model.Request{
		Model: c.Model, Contents: compiled.Contents, Config: config, Fallback: c.Fallback,
		Meta: model.Meta{Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt, Turn: turn, Purpose: "turn"},
	}
}
