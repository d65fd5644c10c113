package model

import (
	"crypto/rand"
	"fmt"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// Answer gathers the raw chunks of one stream into a Result. The zero value is ready; it is not safe for concurrent use.
type Answer struct {
	parts     []*genai.Part
	finish    genai.FinishReason
	finishMsg string
	feedback  *genai.GenerateContentResponsePromptFeedback
	usage     *genai.GenerateContentResponseUsageMetadata
	token     []byte
	model, id string
	chunks    int
}

// Observe takes one chunk in and returns the parts that it brought. Usage is cumulative, so the last one counts.
func (a *Answer) Observe(r *genai.GenerateContentResponse) []*genai.Part {
	a.chunks++
	if r.UsageMetadata != nil {
		a.usage = r.UsageMetadata
	}
	if r.PromptFeedback != nil {
		a.feedback = r.PromptFeedback
	}
	if r.ModelVersion != "" {
		a.model = r.ModelVersion
	}
	if r.ResponseID != "" {
		a.id = r.ResponseID
	}
	if len(r.Candidates) == 0 || r.Candidates[0] == nil {
		return nil
	}
	c := r.Candidates[0]
	if c.FinishReason != "" && c.FinishReason != genai.FinishReasonUnspecified {
		a.finish, a.finishMsg = c.FinishReason, c.FinishMessage
	}
	if len(c.ContinuationToken) > 0 {
		a.token = c.ContinuationToken
	}
	if c.Content == nil {
		return nil
	}
	var got []*genai.Part
	for _, p := range c.Content.Parts {
		if p == nil || emptyPart(p) {
			continue // an empty closing chunk; it must not go back to the server
		}
		if p.FunctionCall != nil && p.FunctionCall.ID == "" {
			p.FunctionCall.ID = localID + rand.Text()
		}
		a.parts = appendPart(a.parts, p)
		got = append(got, p)
	}
	return got
}

// appendPart adds a part to an answer: unsigned text follows unsigned text of the same kind in one part, everything else
// stands alone, because a signature belongs to exactly the part that it came with.
func appendPart(parts []*genai.Part, p *genai.Part) []*genai.Part {
	if n := len(parts); n > 0 && joinable(parts[n-1]) && joinable(p) && parts[n-1].Thought == p.Thought {
		parts[n-1].Text += p.Text
		return parts
	}
	own := *p // the delta that was dispatched stays as it is when this one grows
	return append(parts, &own)
}

func joinable(p *genai.Part) bool {
	return p.Text != "" && len(p.ThoughtSignature) == 0 && p.PartMetadata == nil && p.MediaResolution == nil &&
		p.VideoMetadata == nil && p.SpeechMetadata == nil && p.MediaProcessing == "" && !hasData(p)
}

// substance reports whether there is anything to act on: text, thoughts or data, not just a signature.
func (a *Answer) substance() bool {
	for _, p := range a.parts {
		if p.Text != "" || hasData(p) {
			return true
		}
	}
	return false
}

// spent is the usage that the server reported so far.
func (a *Answer) spent() spec.Usage { return UsageOf(a.usage) }

// UsageOf returns the cost of one call as the API reports it; nothing for nil.
func UsageOf(u *genai.GenerateContentResponseUsageMetadata) spec.Usage {
	if u == nil {
		return spec.Usage{}
	}
	return spec.Usage{
		Calls: 1, Prompt: int(u.PromptTokenCount + u.ToolUsePromptTokenCount), Cached: int(u.CachedContentTokenCount),
		Output: int(u.CandidatesTokenCount), Thoughts: int(u.ThoughtsTokenCount), ToolUse: int(u.ToolUsePromptTokenCount),
	}
}

// Result judges the finished stream. model is the name that was asked for.
func (a *Answer) Result(model string) (*Result, *Error) {
	if err := a.fault(); err != nil {
		err.Usage = a.spent()
		return nil, err
	}
	if a.model != "" {
		model = a.model
	}
	res := &Result{
		Content: &genai.Content{Role: genai.RoleModel, Parts: a.parts},
		Finish:  a.finish, Usage: a.spent(), Model: model, ResponseID: a.id,
	}
	if a.finish == genai.FinishReasonContinuation {
		res.Continuation = a.token
	}
	res.Usage.Calls = 1
	return res, nil
}

// fault turns the end of a stream into an error, or nil when the answer can be used. A stream that ends without a finish
// reason was cut, however cleanly it closed.
func (a *Answer) fault() *Error {
	switch a.finish {
	case "":
		return a.noFinish()
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		return a.fail(MalformedCall, 0, "the model's tool calls could not be used")
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist, genai.FinishReasonLanguage,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return a.fail(Blocked, 0, "the answer was withheld")
	case genai.FinishReasonContinuation:
		if len(a.token) == 0 {
			return a.fail(Truncated, 0, "the server asked for a continuation and sent no token")
		}
		return nil
	case genai.FinishReasonOther:
		return a.fail(Truncated, 2, "the answer was given up")
	case genai.FinishReasonMaxTokens:
		if !a.substance() {
			return a.fail(Truncated, 1, "the output limit went on thoughts alone; raise the limit or lower the thinking level")
		}
		return nil
	default: // STOP, and reasons that this program does not know
		if !a.substance() {
			return a.fail(Truncated, 2, "the answer was empty")
		}
		return nil
	}
}

func (a *Answer) noFinish() *Error {
	if f := a.feedback; f != nil && f.BlockReason != "" {
		msg := fmt.Sprintf("the prompt was blocked: %s", f.BlockReason)
		if f.BlockReasonMessage != "" {
			msg += ": " + shorten(f.BlockReasonMessage)
		}
		return &Error{Class: Blocked, Message: msg}
	}
	return &Error{Class: Truncated, Message: "the stream ended without a finish reason"}
}

func (a *Answer) fail(class Class, tries int, what string) *Error {
	msg := fmt.Sprintf("%s (%s)", what, a.finish)
	if a.finishMsg != "" {
		msg += ": " + shorten(a.finishMsg)
	}
	return &Error{Class: class, Message: msg, tries: tries}
}
