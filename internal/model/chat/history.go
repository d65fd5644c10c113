package chat

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// message is one message of a conversation. Content is null where an assistant only calls.
type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	Thoughts   *string    `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name string `json:"name"`
	// Arguments is JSON in a string.
	Arguments string `json:"arguments"`
}

// history turns contents into messages. Each call is answered before anything else is said: in the order of the responses, one
// message each. Signatures are Gemini's own and stay behind, thoughts too unless the service wants them back.
type history struct {
	messages []message
	thoughts bool

	open []openCall      // calls of the last content that wait for their responses
	used map[string]bool // ids of calls
	made int             // calls that were given an id
}

// openCall is a call with the id of the history and the one that is sent.
type openCall struct{ own, sent, name string }

func (h *history) add(system *genai.Content, contents []*genai.Content) *model.Error {
	h.used = map[string]bool{}
	if system != nil {
		var texts []string
		for j, p := range system.Parts {
			if p.Text == "" {
				return cannotSend("config: system instruction", j, p)
			}
			texts = append(texts, p.Text)
		}
		h.say("system", texts)
	}
	for i, c := range contents {
		add := h.user
		if c.Role == genai.RoleModel {
			add = h.assistant
		}
		if err := add(c, fmt.Sprintf("contents[%d]", i)); err != nil {
			return err
		}
	}
	if len(h.open) > 0 {
		return h.unanswered("the last content")
	}
	return nil
}

// say adds text; what one role says in a row is one message, because many templates want them to take turns.
func (h *history) say(role string, texts []string) {
	if len(texts) == 0 {
		return
	}
	text := strings.Join(texts, "\n\n")
	if n := len(h.messages); n > 0 && h.messages[n-1].Role == role {
		text = *h.messages[n-1].Content + "\n\n" + text
		h.messages = h.messages[:n-1]
	}
	h.messages = append(h.messages, message{Role: role, Content: &text})
}

func (h *history) user(c *genai.Content, at string) *model.Error {
	var texts []string
	for j, p := range c.Parts {
		switch {
		case p.FunctionResponse != nil:
			if err := h.respond(p.FunctionResponse, at); err != nil {
				return err
			}
		case p.Text != "":
			texts = append(texts, p.Text)
		default:
			return cannotSend(at, j, p)
		}
	}
	if len(h.open) > 0 {
		return h.unanswered(at)
	}
	h.say("user", texts)
	return nil
}

func (h *history) unanswered(at string) *model.Error {
	return model.Invalidf("%s leaves the call of %s without a response", at, h.open[0].name)
}

func (h *history) respond(r *genai.FunctionResponse, at string) *model.Error {
	if len(r.Parts) > 0 {
		return model.Invalidf("%s: the response of %s has parts, which chat completions cannot be sent", at, r.Name)
	}
	i := slices.IndexFunc(h.open, func(c openCall) bool { return c.own == r.ID && c.name == r.Name })
	if i < 0 {
		return model.Invalidf("%s: the response of %s (id %q) answers no call", at, r.Name, r.ID)
	}
	text, plain := r.Response["output"].(string)
	if !plain || len(r.Response) > 1 {
		raw, err := spec.JSON(r.Response)
		if err != nil {
			return model.Invalidf("%s: the response of %s cannot be written as JSON: %v", at, r.Name, err)
		}
		text = string(raw)
	}
	h.messages = append(h.messages, message{Role: "tool", Content: &text, ToolCallID: h.open[i].sent})
	h.open = slices.Delete(h.open, i, i+1)
	return nil
}

func (h *history) assistant(c *genai.Content, at string) *model.Error {
	if len(h.open) > 0 {
		return h.unanswered(at)
	}
	m := message{Role: "assistant"}
	var text, thoughts strings.Builder
	for j, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			call, err := h.call(p.FunctionCall)
			if err != nil {
				return model.Invalidf("%s.parts[%d]: arguments cannot be written as JSON: %v", at, j, err)
			}
			m.ToolCalls = append(m.ToolCalls, call)
		case p.Thought:
			thoughts.WriteString(p.Text)
		case p.Text != "":
			text.WriteString(p.Text)
		case len(p.ThoughtSignature) == 0:
			return cannotSend(at, j, p)
		}
	}
	if text.Len() > 0 {
		m.Content = new(text.String())
	}
	if h.thoughts {
		m.Thoughts = new(thoughts.String())
	}
	if m.Content != nil || len(m.ToolCalls) > 0 {
		h.messages = append(h.messages, m)
	}
	return nil
}

// call keeps the id that a call came with. Where it has none, or one that was there before, it gets one that every service takes.
func (h *history) call(f *genai.FunctionCall) (toolCall, error) {
	id := f.ID
	for id == "" || h.used[id] {
		h.made++
		id = fmt.Sprintf("call%05d", h.made)
	}
	h.used[id] = true
	h.open = append(h.open, openCall{f.ID, id, f.Name})
	args := f.Args
	if args == nil {
		args = map[string]any{}
	}
	raw, err := spec.JSON(args)
	return toolCall{id, "function", calledByName{f.Name, string(raw)}}, err
}

func cannotSend(at string, i int, p *genai.Part) *model.Error {
	return model.Invalidf("%s.parts[%d] contains %s, which chat completions cannot be sent", at, i, kind(p))
}

// kind names the content of a part.
func kind(p *genai.Part) string {
	switch {
	case p.InlineData != nil:
		return "data (" + p.InlineData.MIMEType + ")"
	case p.FileData != nil:
		return "a file (" + p.FileData.MIMEType + ")"
	case p.FunctionCall != nil:
		return "a call"
	case p.FunctionResponse != nil:
		return "a response"
	}
	return "something other than text, calls and responses"
}
