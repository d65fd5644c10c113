package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// request is a body as the service reads it.
type request struct {
	Model           string         `json:"model"`
	Messages        []message      `json:"messages"`
	Tools           []tool         `json:"tools,omitempty"`
	ToolChoice      any            `json:"tool_choice,omitempty"`
	Stream          bool           `json:"stream"`
	StreamOptions   *streamOptions `json:"stream_options,omitempty"`
	MaxTokens       int32          `json:"max_tokens,omitempty"`
	MaxCompletion   int32          `json:"max_completion_tokens,omitempty"`
	ReasoningEffort string         `json:"reasoning_effort,omitempty"`
	ServiceTier     string         `json:"service_tier,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

// encode writes the body of a request for a service with the traits that are known.
func encode(req *model.Request, known trait) ([]byte, *model.Error) {
	contents, config := req.Portable()
	h := history{thoughts: known&wantsThoughts != 0}
	if err := h.add(config.SystemInstruction, contents); err != nil {
		return nil, err
	}
	r := request{Model: req.Model, Messages: h.messages, Stream: true}
	if known&noUsage == 0 {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if err := r.setTools(config, known); err != nil {
		return nil, err
	}
	if err := r.setConfig(config, known); err != nil {
		return nil, err
	}
	body, err := spec.JSON(r)
	if err == nil && config.HTTPOptions != nil && len(config.HTTPOptions.ExtraBody) > 0 {
		body, err = merge(body, config.HTTPOptions.ExtraBody)
	}
	if err != nil {
		return nil, model.Invalidf("the request cannot be written as JSON: %v", err)
	}
	return body, nil
}

// setConfig maps the settings that are used here. No other is left out in silence.
func (r *request) setConfig(c *genai.GenerateContentConfig, known trait) *model.Error {
	rest := *c
	rest.SystemInstruction, rest.Tools, rest.ToolConfig, rest.ThinkingConfig, rest.HTTPOptions = nil, nil, nil, nil, nil
	rest.MaxOutputTokens, rest.ServiceTier, rest.AutomaticContinuation = 0, "", nil
	if raw, err := json.Marshal(rest); err != nil || string(raw) != "{}" {
		return model.Invalidf("config: chat completions are not sent %s", raw)
	}
	if known&completionTokens != 0 {
		r.MaxCompletion = c.MaxOutputTokens
	} else {
		r.MaxTokens = c.MaxOutputTokens
	}
	if t := c.ThinkingConfig; t != nil {
		r.ReasoningEffort = strings.ToLower(string(t.ThinkingLevel))
	}
	switch c.ServiceTier {
	case genai.ServiceTierStandard:
		r.ServiceTier = "default"
	default:
		r.ServiceTier = string(c.ServiceTier)
	}
	return nil
}

// setTools declares the tools and reports which are to be called.
func (r *request) setTools(c *genai.GenerateContentConfig, known trait) *model.Error {
	choice := toolChoice(c.ToolConfig)
	for i, t := range c.Tools {
		own := *t
		own.FunctionDeclarations = nil
		if raw, err := json.Marshal(own); err != nil || string(raw) != "{}" {
			return model.Invalidf("tools[%d] is one of Gemini's own; chat completions have functions only", i)
		}
		for _, f := range t.FunctionDeclarations {
			if f.Parameters != nil {
				return model.Invalidf("tool %s has Parameters; only ParametersJsonSchema can be sent", f.Name)
			}
			if choice.allows(f.Name, known) {
				r.Tools = append(r.Tools, tool{"function", function{f.Name, f.Description, schemaOf(f)}})
			}
		}
	}
	if len(r.Tools) > 0 && known&noToolChoice == 0 {
		r.ToolChoice = choice.value()
	}
	return nil
}

func schemaOf(f *genai.FunctionDeclaration) any {
	if f.ParametersJsonSchema == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return f.ParametersJsonSchema
}

// choice is which tools a model is to call.
type choice struct {
	mode    genai.FunctionCallingConfigMode
	allowed []string
}

func toolChoice(c *genai.ToolConfig) choice {
	if c == nil || c.FunctionCallingConfig == nil {
		return choice{}
	}
	return choice{c.FunctionCallingConfig.Mode, c.FunctionCallingConfig.AllowedFunctionNames}
}

// allows reports whether a tool is declared at all. One tool of many is asked for by name, so that the declarations, which the
// service may have cached, stay the same.
func (c choice) allows(name string, known trait) bool {
	if len(c.allowed) == 0 || c.named() && known&noToolChoice == 0 {
		return true
	}
	return slices.Contains(c.allowed, name)
}

func (c choice) named() bool {
	return c.mode == genai.FunctionCallingConfigModeAny && len(c.allowed) == 1
}

func (c choice) value() any {
	switch {
	case c.named():
		return tool{"function", function{Name: c.allowed[0]}}
	case c.mode == genai.FunctionCallingConfigModeAny:
		return "required"
	case c.mode == genai.FunctionCallingConfigModeNone:
		return "none"
	}
	return nil
}

// merge sets fields of a body.
func merge(body []byte, extra map[string]any) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	for name, v := range extra {
		fields[name] = v
	}
	return spec.JSON(fields)
}
