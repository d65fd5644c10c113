package model

import (
	"fmt"

	"google.golang.org/genai"
)

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
