package chat

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/model"
)

// bytesPerToken is the estimate for answers whose usage the service does not tell.
const bytesPerToken = 3.5

// chunk is one event of a stream; or a whole answer, from a service that does not stream.
type chunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Choices []candidate     `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// failed reports that the event is an error in the place of a chunk.
func (c *chunk) failed() bool {
	return c.Object == "error" || len(c.Error) > 0 && string(c.Error) != "null"
}

type candidate struct {
	Index   int    `json:"index"`
	Delta   delta  `json:"delta"`
	Message *delta `json:"message"`
	Finish  string `json:"finish_reason"`
}

type delta struct {
	Content   text `json:"content"`
	Refusal   text `json:"refusal"`
	Reasoning text `json:"reasoning"`
	// ReasoningContent is the older name; some services send both, with the same text.
	ReasoningContent text        `json:"reasoning_content"`
	ToolCalls        []callDelta `json:"tool_calls"`
	// FunctionCall is the one call of old services.
	FunctionCall *calledDelta `json:"function_call"`
}

// parts are the texts of a delta.
func (d *delta) parts() []*genai.Part {
	var parts []*genai.Part
	if t := cmp.Or(d.ReasoningContent, d.Reasoning); t != "" {
		parts = append(parts, &genai.Part{Text: string(t), Thought: true})
	}
	for _, t := range []text{d.Content, d.Refusal} {
		if t != "" {
			parts = append(parts, &genai.Part{Text: string(t)})
		}
	}
	return parts
}

// text is a string, null, or a list of parts with texts.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		var parts []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*t += text(p.Text)
		}
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// usage is the cost of an answer. The prompt includes what was cached, the completion mostly what was thought.
type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
	InPrompt   struct {
		Cached  float64 `json:"cached_tokens"`
		Written float64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	InCompletion struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// CacheHit is DeepSeek's word for what was cached.
	CacheHit float64 `json:"prompt_cache_hit_tokens"`
}

func (u *usage) metadata() *genai.GenerateContentResponseUsageMetadata {
	thoughts := u.InCompletion.Reasoning
	output := u.Completion - thoughts
	if thoughts > 0 && u.Prompt+u.Completion+thoughts == u.Total {
		output = u.Completion // some services count thoughts beside the completion
	}
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: count(u.Prompt), CachedContentTokenCount: count(max(u.InPrompt.Cached, u.CacheHit)),
		CandidatesTokenCount: count(output), ThoughtsTokenCount: count(thoughts),
	}
}

func count(tokens float64) int32 { return int32(max(0, min(tokens, math.MaxInt32))) }

// answer gathers one stream. It lives on the goroutine that ranges.
type answer struct {
	req  *model.Request
	show func(model.Event) bool // false when the consumer broke off

	whole  model.Answer
	calls  calls
	finish string
	usage  *usage
	began  bool // an event came
	said   int  // bytes of text
	fault  *model.Error
}

// take reads one event; false ends the stream.
func (a *answer) take(data []byte) bool {
	a.began = true
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		a.fault = &model.Error{Class: model.Truncated, Message: "the stream could not be read: " + err.Error()}
		return false
	}
	if c.failed() {
		f := parseFault(data)
		a.fault = f.refusal(f.status(), nil)
		return false
	}
	if c.Usage != nil {
		a.usage = c.Usage // it is cumulative
	}
	return a.observe(&c)
}

func (a *answer) observe(c *chunk) bool {
	var parts []*genai.Part
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			parts = append(parts, a.choice(&c.Choices[i])...)
		}
	}
	return a.give(parts, &genai.GenerateContentResponse{ModelVersion: c.Model, ResponseID: c.ID}, "", "")
}

func (a *answer) choice(c *candidate) []*genai.Part {
	d := &c.Delta
	if c.Message != nil {
		d = c.Message
	}
	for _, call := range d.ToolCalls {
		a.calls.add(call)
	}
	if d.FunctionCall != nil {
		a.calls.add(callDelta{Index: new(0), Function: *d.FunctionCall})
	}
	a.finish = cmp.Or(c.Finish, a.finish)
	return d.parts()
}

// give adds parts to the answer and shows them.
func (a *answer) give(
	parts []*genai.Part, r *genai.GenerateContentResponse, finish genai.FinishReason, why string,
) bool {
	r.Candidates = []*genai.Candidate{{Content: &genai.Content{Parts: parts}, FinishReason: finish, FinishMessage: why}}
	for _, p := range a.whole.Observe(r) {
		a.said += len(p.Text)
		if !a.show(model.Event{Delta: p}) {
			return false
		}
	}
	return true
}

// result judges the stream that has ended: with the mark of the end or without, or broken off. It returns nil, nil when the
// consumer broke off.
func (a *answer) result(done bool, broken *model.Error) (*model.Result, *model.Error) {
	if done {
		a.finish = cmp.Or(a.finish, "stop")
	}
	fault := cmp.Or(a.fault, broken)
	if fault != nil && fault.Class == model.Truncated && a.finish != "" {
		fault = nil // only the usage or the mark of the end is missing
	}
	if fault == nil {
		parts, finish, why := a.end()
		if !a.give(parts, &genai.GenerateContentResponse{UsageMetadata: a.metadata()}, finish, why) {
			return nil, nil
		}
		var res *model.Result
		if res, fault = a.whole.Result(a.req.Model); fault == nil {
			res.Usage.Written = a.written()
			return res, nil
		}
	}
	if a.began || fault.Class == model.Stalled { // a silent server does not report whether it did the work
		fault.Usage = model.UsageOf(a.metadata()) // what was begun is paid
		fault.Usage.Written = a.written()
	}
	return nil, fault
}

// end returns the calls, which are whole only now, and why the answer ended.
func (a *answer) end() (parts []*genai.Part, finish genai.FinishReason, why string) {
	switch finish = finishOf(a.finish); finish {
	case "", genai.FinishReasonSafety, genai.FinishReasonOther:
		return nil, finish, ""
	}
	parts, bad := a.calls.parts()
	if bad != "" {
		return nil, genai.FinishReasonMalformedFunctionCall, bad + ", and the answer ended with " + a.finish
	}
	return parts, finish, ""
}

// metadata is the usage as told, else as estimated.
func (a *answer) metadata() *genai.GenerateContentResponseUsageMetadata {
	u := a.usage
	if u == nil {
		u = &usage{
			Prompt: float64(model.Estimate(a.req)), Completion: math.Ceil(float64(a.said+a.calls.size()) / bytesPerToken),
		}
	}
	return u.metadata()
}

// written are the tokens that the service put into its cache, for which Gemini's usage has no word.
func (a *answer) written() int {
	if a.usage == nil {
		return 0
	}
	return int(count(a.usage.InPrompt.Written))
}

// finishOf maps the reasons that services give. An unknown reason stays as it is.
func finishOf(reason string) genai.FinishReason {
	switch reason {
	case "":
		return ""
	case "stop", "tool_calls", "function_call":
		return genai.FinishReasonStop
	case "length":
		return genai.FinishReasonMaxTokens
	case "content_filter":
		return genai.FinishReasonSafety
	case "error", "abort", "insufficient_system_resource":
		return genai.FinishReasonOther
	}
	return genai.FinishReason(strings.ToUpper(reason))
}
