package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// maxDeclarations is the API's limit of function declarations in one request.
const maxDeclarations = 512

// Validate finds what would crash the SDK, make it send an empty body, or be refused for certain. It returns nil or an error
// of class Invalid that names the place.
func Validate(req *Request) *Error {
	if req == nil {
		return Invalidf("no request")
	}
	if err := validateModel(req.Model); err != nil {
		return err
	}
	if len(req.Contents) == 0 {
		return Invalidf("the request has no contents")
	}
	for i, c := range req.Contents {
		if err := validateContent(c, i); err != nil {
			return err
		}
	}
	return validateConfig(req.Model, req.Config)
}

func validateModel(name string) *Error {
	if name == "" || strings.Contains(name, "..") || strings.ContainsAny(name, "?&# \t\r\n") {
		return Invalidf("%q is not a model name", name)
	}
	return nil
}

func validateContent(c *genai.Content, i int) *Error {
	switch {
	case c == nil:
		return Invalidf("contents[%d] is nil", i)
	case c.Role != genai.RoleUser && c.Role != genai.RoleModel:
		return Invalidf("contents[%d] has role %q, not user or model", i, c.Role)
	case len(c.Parts) == 0:
		return Invalidf("contents[%d] has no parts", i)
	}
	for j, p := range c.Parts {
		if why := partFault(p); why != "" {
			return Invalidf("contents[%d].parts[%d] %s", i, j, why)
		}
	}
	return nil
}

// partFault reports what is wrong with a part; "" when nothing is.
func partFault(p *genai.Part) string {
	if p == nil {
		return "is nil"
	}
	if emptyPart(p) {
		return "is empty"
	}
	if p.FunctionCall != nil && p.FunctionCall.Name == "" {
		return "is a call without a name"
	}
	if r := p.FunctionResponse; r != nil {
		if r.Name == "" {
			return "is a response without a name"
		}
		if slices.Contains(r.Parts, nil) {
			return "is a response with a nil part"
		}
	}
	// Marshalling catches NaN, infinities, channels, functions and cycles, which the SDK would turn into an empty body.
	if p.Text == "" || p.PartMetadata != nil {
		if _, err := json.Marshal(p); err != nil {
			return "cannot be written as JSON: " + shorten(err.Error())
		}
	}
	return ""
}

// emptyPart reports whether the part would be sent as {} or as nothing but flags.
func emptyPart(p *genai.Part) bool {
	return p.Text == "" && len(p.ThoughtSignature) == 0 && !hasData(p)
}

// hasData reports whether the part carries anything beside text and signature.
func hasData(p *genai.Part) bool {
	return p.FunctionCall != nil || p.FunctionResponse != nil || p.InlineData != nil || p.FileData != nil ||
		p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.ToolCall != nil || p.ToolResponse != nil ||
		p.AudioTranscription != nil
}

func validateConfig(model string, c *genai.GenerateContentConfig) *Error {
	if c == nil {
		return nil
	}
	if c.CandidateCount > 1 {
		return Invalidf("config: %d candidates asked for; one is supported", c.CandidateCount)
	}
	if h := c.HTTPOptions; h != nil {
		if h.BaseURL != "" || h.APIVersion != "" || h.Timeout != nil || h.RetryOptions != nil || h.ExtrasRequestProvider != nil {
			return Invalidf("config: of HTTPOptions only Headers and ExtraBody can be set per request")
		}
	}
	if c.CachedContent != "" {
		return Invalidf("config: explicit caches are not supported")
	}
	if err := validateSystem(c.SystemInstruction); err != nil {
		return err
	}
	if err := validateAbilities(Lookup(model), c); err != nil {
		return err
	}
	if err := validateTools(c.Tools); err != nil {
		return err
	}
	if _, err := json.Marshal(c); err != nil {
		return Invalidf("config cannot be written as JSON: %s", shorten(err.Error()))
	}
	return nil
}

// validateAbilities refuses what the model is known not to do.
func validateAbilities(info Info, c *genai.GenerateContentConfig) *Error {
	if t := c.ThinkingConfig; t != nil && t.ThinkingLevel != "" && !info.Thinks(string(t.ThinkingLevel)) {
		return Invalidf("config: %s knows the thinking levels %s, not %s", info.Name, strings.Join(info.Thinking, ", "),
			t.ThinkingLevel)
	}
	if !info.Serves(string(c.ServiceTier)) {
		return Invalidf("config: %s has the service tiers %s, not %s", info.Name,
			strings.Join(slices.Sorted(maps.Keys(info.Tiers)), ", "), c.ServiceTier)
	}
	if info.Known && !info.JSONWithTools && len(c.Tools) > 0 && (c.ResponseMIMEType == "application/json" ||
		c.ResponseJsonSchema != nil || c.ResponseSchema != nil) {
		return Invalidf("config: %s cannot be asked for JSON beside tools: have a tool called instead", info.Name)
	}
	return nil
}

func validateSystem(s *genai.Content) *Error {
	if s == nil {
		return nil
	}
	if len(s.Parts) == 0 {
		return Invalidf("config: the system instruction has no parts")
	}
	for j, p := range s.Parts {
		if why := partFault(p); why != "" {
			return Invalidf("config: system instruction: parts[%d] %s", j, why)
		}
	}
	return nil
}

func validateTools(tools []*genai.Tool) *Error {
	seen := make(map[string]bool)
	for i, t := range tools {
		if t == nil {
			return Invalidf("tools[%d] is nil", i)
		}
		for j, f := range t.FunctionDeclarations {
			switch {
			case f == nil:
				return Invalidf("tools[%d].functionDeclarations[%d] is nil", i, j)
			case f.Name == "":
				return Invalidf("tools[%d].functionDeclarations[%d] has no name", i, j)
			case seen[f.Name]:
				return Invalidf("tool %s is declared twice", f.Name)
			case f.Parameters != nil && f.ParametersJsonSchema != nil:
				return Invalidf("tool %s has both Parameters and ParametersJsonSchema", f.Name)
			}
			seen[f.Name] = true
		}
	}
	if len(seen) > maxDeclarations {
		return Invalidf("%d tools are declared; the limit is %d", len(seen), maxDeclarations)
	}
	return nil
}
