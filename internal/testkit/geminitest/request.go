package geminitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// Request is one call as the script sees it.
type Request struct {
	Model, Method            string
	Run, Task, Role, Purpose string
	Attempt, Turn            int
	// Try counts the tries of the same turn from 1.
	Try      int
	System   string
	Contents []*genai.Content
	Tools    []*genai.Tool
	// Continuation is the token that a continued answer continues from.
	Continuation []byte
	// Cached is how many tokens of the request were in the simulated cache.
	Cached int
	// Body is the request as it came.
	Body json.RawMessage

	text string
}

// body is the part of a request that the API knows. Parts are kept raw as well: some faults are gone once they are parsed.
type body struct {
	Contents          []*genai.Content           `json:"contents"`
	SystemInstruction *genai.Content             `json:"systemInstruction"`
	Tools             []*genai.Tool              `json:"tools"`
	ToolConfig        *genai.ToolConfig          `json:"toolConfig"`
	GenerationConfig  map[string]json.RawMessage `json:"generationConfig"`
	SafetySettings    []*genai.SafetySetting     `json:"safetySettings"`
	Labels            map[string]string          `json:"labels"`
	ServiceTier       string                     `json:"serviceTier"`
	Store             *bool                      `json:"store"`
	ContinuationToken []byte                     `json:"continuationToken"`
}

var (
	taskLine    = regexp.MustCompile(`(?m)^Task: (\S+)`)
	roleLine    = regexp.MustCompile(`(?m)^Role: (\S+)`)
	attemptLine = regexp.MustCompile(`(?m)^Attempt: (\d+)`)
	// taskJSON and attemptJSON are of the input of a role's command, which a coding agent passes on as it got it.
	taskJSON    = regexp.MustCompile(`(?m)^\{"task":\{"id":"([^"]+)"`)
	attemptJSON = regexp.MustCompile(`\},"attempt":(\d+),"files":\[`)
)

// parseBody reads a request's body. Unknown fields are refused.
func parseBody(raw []byte) (*body, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var b body
	if err := dec.Decode(&b); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("request body: more than one document")
	}
	return &b, nil
}

// newRequest gathers what the script inspects. b may come from an in-memory call, then h is nil.
func newRequest(b *body, h http.Header, model, method string, raw []byte) *Request {
	r := &Request{
		Model: model, Method: method, Contents: b.Contents, Tools: b.Tools, Continuation: b.ContinuationToken,
		System: contentText(b.SystemInstruction), Body: raw,
		Run: h.Get("X-Divisi-Run"), Task: h.Get("X-Divisi-Task"), Purpose: h.Get("X-Divisi-Purpose"),
		Attempt: number(h.Get("X-Divisi-Attempt")), Turn: number(h.Get("X-Divisi-Turn")),
	}
	r.Fill()
	return r
}

// Fill derives what the request does not say from its contents.
func (r *Request) Fill() {
	first := ""
	if len(r.Contents) > 0 {
		first = contentText(r.Contents[0])
	}
	if r.Task == "" {
		r.Task = cmp.Or(firstGroup(taskLine, first), firstGroup(taskJSON, first))
	}
	if r.Role == "" {
		r.Role = firstGroup(roleLine, r.System+"\n"+first)
	}
	if r.Attempt == 0 {
		r.Attempt = max(1, number(cmp.Or(firstGroup(attemptLine, first), firstGroup(attemptJSON, first))))
	}
	if r.Turn == 0 {
		r.Turn = 1
		for _, c := range r.Contents {
			if c.Role == genai.RoleModel {
				r.Turn++
			}
		}
	}
	if r.Purpose == "" {
		r.Purpose = "turn"
	}
}

// Text is all that the request says, in order: system instruction, texts, arguments and results, one part a line.
func (r *Request) Text() string {
	if r.text == "" {
		var b strings.Builder
		b.WriteString(r.System)
		for _, c := range r.Contents {
			b.WriteString("\n" + contentText(c))
		}
		r.text = b.String()
	}
	return r.text
}

// contentText joins the texts of a content; tool results contribute the strings in them.
func contentText(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var lines []string
	for _, p := range c.Parts {
		switch {
		case p.Text != "":
			lines = append(lines, p.Text)
		case p.FunctionCall != nil:
			lines = append(lines, stringsIn(p.FunctionCall.Args)...)
		case p.FunctionResponse != nil:
			lines = append(lines, stringsIn(p.FunctionResponse.Response)...)
		}
	}
	return strings.Join(lines, "\n")
}

func firstGroup(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0 // absent
	}
	return n
}
