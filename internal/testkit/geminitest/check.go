package geminitest

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/genai"
)

// generationFields are the fields of generationConfig.
var generationFields = []string{
	"temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "responseLogprobs", "logprobs",
	"presencePenalty", "frequencyPenalty", "seed", "responseMimeType", "responseSchema", "responseJsonSchema",
	"responseModalities", "mediaResolution", "speechConfig", "thinkingConfig", "imageConfig", "enableEnhancedCivicAnswers",
}

// check finds the first breach of the API's rules in a request. issued maps the ids of calls to the signatures of the
// answer that they came with.
func check(b *body, raw []byte, issued func(id string) ([]string, bool)) error {
	for name := range b.GenerationConfig {
		if !slices.Contains(generationFields, name) {
			return fmt.Errorf("unknown field generationConfig.%s", name)
		}
	}
	if err := checkParts(raw); err != nil {
		return err
	}
	if err := checkRoles(b.Contents); err != nil {
		return err
	}
	if err := checkCalls(b.Contents); err != nil {
		return err
	}
	if err := checkSignatures(b.Contents, issued); err != nil {
		return err
	}
	return checkTools(b.Tools)
}

// checkParts inspects the parts as they came: {} and {"text": ""} are the same once they are parsed.
func checkParts(raw []byte) error {
	type content struct {
		Parts []map[string]json.RawMessage `json:"parts"`
	}
	var b struct {
		Contents          []content `json:"contents"`
		SystemInstruction *content  `json:"systemInstruction"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	all := b.Contents
	if b.SystemInstruction != nil {
		all = append(all, *b.SystemInstruction)
	}
	for i, c := range all {
		if len(c.Parts) == 0 {
			return fmt.Errorf("contents[%d] has no parts", i)
		}
		for j, p := range c.Parts {
			if emptyPart(p) {
				return fmt.Errorf("contents[%d].parts[%d] is empty: required oneof field 'data' must have one initialized field",
					i, j)
			}
		}
	}
	return nil
}

func emptyPart(p map[string]json.RawMessage) bool {
	for name, v := range p {
		switch name {
		case "thought", "partMetadata", "mediaResolution", "mediaProcessing":
		case "text":
			if string(v) != `""` {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func checkRoles(contents []*genai.Content) error {
	if len(contents) == 0 {
		return fmt.Errorf("contents is not specified")
	}
	want := genai.RoleUser
	for i, c := range contents {
		if c.Role != want {
			return fmt.Errorf("contents[%d] has role %q: roles alternate between user and model, starting with user", i, c.Role)
		}
		if want == genai.RoleUser {
			want = genai.RoleModel
		} else {
			want = genai.RoleUser
		}
	}
	if want == genai.RoleUser {
		return fmt.Errorf("the last content is the model's: there is nothing to answer")
	}
	return nil
}

// checkCalls wants every call answered in the next content: once, in order, with its id and name.
func checkCalls(contents []*genai.Content) error {
	var open []*genai.FunctionCall
	for i, c := range contents {
		var responses []*genai.FunctionResponse
		var calls []*genai.FunctionCall
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse)
			}
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall)
			}
		}
		if c.Role == genai.RoleUser {
			if len(calls) > 0 {
				return fmt.Errorf("contents[%d]: a user cannot call functions", i)
			}
			if err := pair(open, responses); err != nil {
				return fmt.Errorf("contents[%d]: %w", i, err)
			}
			open = nil
			continue
		}
		if len(responses) > 0 {
			return fmt.Errorf("contents[%d]: a model cannot answer functions", i)
		}
		open = calls
	}
	return nil
}

func pair(calls []*genai.FunctionCall, responses []*genai.FunctionResponse) error {
	if len(calls) != len(responses) {
		return fmt.Errorf("%d function calls and %d function responses: they must be the same number", len(calls), len(responses))
	}
	for i, c := range calls {
		r := responses[i]
		if c.Name != r.Name || c.ID != r.ID {
			return fmt.Errorf("function response %d is for %s (id %q), the call is %s (id %q)", i, r.Name, r.ID, c.Name, c.ID)
		}
		if r.Response == nil && len(r.Parts) == 0 {
			return fmt.Errorf("function response %d (%s) has no response", i, r.Name)
		}
	}
	return nil
}

// checkSignatures wants signatures on exactly the parts that they came with, and none missing in the current turn.
func checkSignatures(contents []*genai.Content, issued func(id string) ([]string, bool)) error {
	turn := currentTurn(contents)
	for i, c := range contents {
		var got []string
		first := true
		for j, p := range c.Parts {
			if len(p.ThoughtSignature) > 0 {
				if c.Role == genai.RoleUser {
					return fmt.Errorf("contents[%d].parts[%d]: a user's part cannot be signed", i, j)
				}
				if !signedFor(p) {
					return fmt.Errorf("contents[%d].parts[%d]: thought signature is not valid for this part", i, j)
				}
				got = append(got, string(p.ThoughtSignature))
			}
			if p.FunctionCall == nil {
				continue
			}
			if i > turn && first && len(p.ThoughtSignature) == 0 {
				return fmt.Errorf("contents[%d].parts[%d]: function call %s is missing a thought_signature",
					i, j, p.FunctionCall.Name)
			}
			if !first && len(p.ThoughtSignature) > 0 {
				return fmt.Errorf("contents[%d].parts[%d]: only the first of parallel calls carries a thought signature", i, j)
			}
			first = false
		}
		if i > turn {
			if err := sameSignatures(c, got, issued); err != nil {
				return fmt.Errorf("contents[%d]: %w", i, err)
			}
		}
	}
	return nil
}

// currentTurn is the index of the last user content that is not tool results.
func currentTurn(contents []*genai.Content) int {
	for i, c := range slices.Backward(contents) {
		results := slices.ContainsFunc(c.Parts, func(p *genai.Part) bool { return p.FunctionResponse != nil })
		if c.Role == genai.RoleUser && !results {
			return i
		}
	}
	return -1
}

// sameSignatures compares the signatures of a content with those of the answer that it was.
func sameSignatures(c *genai.Content, got []string, issued func(id string) ([]string, bool)) error {
	for _, p := range c.Parts {
		if p.FunctionCall == nil || p.FunctionCall.ID == "" {
			continue
		}
		want, ok := issued(p.FunctionCall.ID)
		if ok && !slices.Equal(got, want) && !slices.Contains(got, skipSignature) {
			return fmt.Errorf("the answer with call %s had %d thought signatures; %d came back",
				p.FunctionCall.ID, len(want), len(got))
		}
	}
	return nil
}
