package chattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/genai"
)

// body is the part of a request that the API knows.
type body struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ServiceTier         string          `json:"service_tier"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  []call  `json:"tool_calls"`
	ToolCallID string  `json:"tool_call_id"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters"`
	} `json:"function"`
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// parseBody reads a body. Unknown fields are refused.
func parseBody(raw []byte) (*body, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var b body
	if err := dec.Decode(&b); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	if dec.More() {
		return nil, errors.New("request body: more than one document")
	}
	return &b, nil
}

// check finds the first breach of the API's rules.
func (b *body) check() error {
	switch {
	case b.Model == "":
		return errors.New("you must provide a model parameter")
	case !b.Stream:
		return errors.New("only streams are served here")
	case b.MaxTokens != nil && b.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens exclude each other")
	}
	var names []string
	for i, t := range b.Tools {
		name := t.Function.Name
		if t.Type != "function" || !toolName.MatchString(name) || slices.Contains(names, name) {
			return fmt.Errorf("tools[%d] is no function, has an invalid name, or one that is declared already: %q", i, name)
		}
		if t.Function.Parameters["type"] != "object" {
			return fmt.Errorf("tools[%d]: the parameters of %s are no schema of type object", i, name)
		}
		names = append(names, name)
	}
	if err := b.checkChoice(names); err != nil {
		return err
	}
	return b.checkMessages()
}

func (b *body) checkChoice(names []string) error {
	if b.ToolChoice == nil {
		return nil
	}
	if len(names) == 0 {
		return errors.New("tool_choice is only allowed when tools are specified")
	}
	var word string
	if json.Unmarshal(b.ToolChoice, &word) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, word) {
			return fmt.Errorf("tool_choice: unknown %q", word)
		}
		return nil
	}
	var one call
	if err := json.Unmarshal(b.ToolChoice, &one); err != nil || one.Type != "function" ||
		!slices.Contains(names, one.Function.Name) {
		return fmt.Errorf("tool_choice %s names no declared function", b.ToolChoice)
	}
	return nil
}

// checkMessages wants an order that every template takes: the system first, user and assistant in turns, and the answers to all
// calls, in their order, right behind them.
func (b *body) checkMessages() error {
	var open []string
	seen := map[string]bool{}
	before := ""
	for i, m := range b.Messages {
		if err := m.check(before, open); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.Role == "tool" {
			open = open[1:]
		}
		for _, c := range m.ToolCalls {
			if seen[c.ID] {
				return fmt.Errorf("messages[%d]: call id %q was there before", i, c.ID)
			}
			seen[c.ID], open = true, append(open, c.ID)
		}
		before = m.Role
	}
	if before != "user" && before != "tool" || len(open) > 0 {
		return errors.New("the last message leaves nothing to answer, or calls without an answer")
	}
	return nil
}

// follows reports which roles may are in front of a role.
var follows = map[string][]string{
	"system": {""}, "user": {"", "system", "assistant", "tool"}, "assistant": {"user", "tool"}, "tool": {"assistant", "tool"},
}

func (m *message) check(before string, open []string) error {
	switch {
	case !slices.Contains(follows[m.Role], before):
		return fmt.Errorf("role %q does not follow %q", m.Role, before)
	case m.Role != "tool" && len(open) > 0:
		return fmt.Errorf("the calls %v are not answered", open)
	case m.Role == "tool" && (len(open) == 0 || m.ToolCallID != open[0]):
		return fmt.Errorf("tool_call_id %q does not answer the next call of %v", m.ToolCallID, open)
	case m.Role != "tool" && m.ToolCallID != "", m.Role != "assistant" && len(m.ToolCalls) > 0:
		return fmt.Errorf("%s has a field of another role", m.Role)
	case m.Content == nil && len(m.ToolCalls) == 0:
		return errors.New("content is null")
	}
	for _, c := range m.ToolCalls {
		var args map[string]any
		err := json.Unmarshal([]byte(c.Function.Arguments), &args)
		if c.ID == "" || c.Type != "function" || c.Function.Name == "" || err != nil || args == nil {
			return fmt.Errorf("call %+v: want id, type, name and arguments that are an object in JSON", c)
		}
	}
	return nil
}

// contents are the messages as a script sees them.
func (b *body) contents() (system string, contents []*genai.Content) {
	names := map[string]string{}
	for _, m := range b.Messages {
		text := ""
		if m.Content != nil {
			text = *m.Content
		}
		role, part := genai.RoleUser, &genai.Part{Text: text}
		switch m.Role {
		case "system":
			system = text
			continue
		case "assistant":
			role = genai.RoleModel
		case "tool":
			part = &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: m.ToolCallID, Name: names[m.ToolCallID], Response: response(text),
			}}
		}
		if n := len(contents); n == 0 || contents[n-1].Role != role {
			contents = append(contents, &genai.Content{Role: role})
		}
		c := contents[len(contents)-1]
		if m.Content != nil {
			c.Parts = append(c.Parts, part)
		}
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Function.Name
			c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{
				ID: call.ID, Name: call.Function.Name, Args: response(call.Function.Arguments),
			}})
		}
	}
	return system, contents
}

// response is an object in JSON, or a text as a tool's output.
func response(text string) map[string]any {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) == nil && m != nil {
		return m
	}
	return map[string]any{"output": text}
}
