package geminitest

import (
	"time"

	"google.golang.org/genai"
)

// bytesPerToken is the size of a token without a count.
const bytesPerToken = 4

// End is how a stream ends.
type End string

// The ends of a stream.
const (
	EndClean End = "clean"
	EndCut   End = "cut"
	EndHang  End = "hang"
)

// Reply is sent to the client: a refusal with a body, or a stream of chunks.
type Reply struct {
	Status int
	// Body is set when Status is not 200.
	Body []byte
	// Chunks are the events of the stream, each a JSON document (but for a malformed one).
	Chunks [][]byte
	End    End
	// First is the time to the first chunk, Between the time between chunks.
	First, Between time.Duration
	Noise          bool
	// Fault is the fault that the script asked for; empty for a plain answer.
	Fault string

	// signed maps the ids of the answer's calls to its signatures, for the check of later turns.
	signed map[string][]string
}

// object is a JSON object.
type object = map[string]any

// builder puts a stream together.
type builder struct {
	req   *Request
	a     Answer
	reply Reply
	usage object
}

// render makes the reply of an answer whose templates are filled in. fault reports whether its fault applies.
func render(req *Request, a Answer, fault bool) Reply {
	if !fault {
		a.Fault = ""
	}
	b := &builder{req: req, a: a}
	if _, ok := refusals[a.Fault]; ok {
		b.reply = refuse(a)
	} else {
		b.reply = Reply{Status: 200, End: EndClean}
		b.stream()
	}
	b.reply.First, b.reply.Between = a.Delay.Std(), a.ChunkDelay.Std()
	b.reply.Noise, b.reply.Fault = a.Noise, a.Fault
	return b.reply
}

func (b *builder) stream() {
	b.usage = b.usageOf()
	switch b.a.Fault {
	case "empty":
		return
	case "stall":
		b.reply.End = EndHang
		return
	case "prompt_blocked":
		b.add(object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}})
		return
	case "empty_candidate":
		b.finish("STOP", "", nil)
		return
	case "other":
		b.finish("OTHER", "", nil)
		return
	case "safety":
		b.finish("SAFETY", "blocked for safety", nil)
		return
	case "malformed_function_call":
		b.finish("MALFORMED_FUNCTION_CALL", "Malformed function call: print(", nil)
		return
	}
	if b.a.Fault != "" && !b.a.says() {
		b.a.Text = "A partial answer that does not come to its end."
	}
	switch b.a.Fault {
	case "":
		b.whole()
	case "continuation":
		b.continued()
	default:
		b.half()
		b.broken()
	}
}

// whole is the answer as the script has it.
func (b *builder) whole() {
	b.texts(b.a.Thought, true)
	b.texts(b.a.Text, false)
	last := b.calls()
	finish := b.a.Finish
	if finish == "" {
		finish = "STOP"
	}
	if last == nil && b.a.Text != "" {
		// A signature on text comes last, on a part of its own without text.
		end := &genai.Part{}
		last = []any{object{"text": "", "thoughtSignature": sign(end)}}
	}
	b.finish(finish, "", last)
}

// calls returns the parts of the calls; the first of them is signed for all.
func (b *builder) calls() []any {
	var parts []any
	b.reply.signed = make(map[string][]string)
	var sig []byte
	for i, c := range b.a.Calls {
		id := callID(b.req, i)
		call := object{"name": c.Name, "args": nonNil(c.Args)}
		if !b.a.NoIDs {
			call["id"] = id
		}
		part := object{"functionCall": call}
		if i == 0 {
			sig = sign(&genai.Part{FunctionCall: &genai.FunctionCall{Name: c.Name, Args: c.Args}})
			part["thoughtSignature"] = sig
		}
		b.reply.signed[id] = []string{string(sig)}
		parts = append(parts, part)
	}
	return parts
}

// continued sends the first half of the text, or the second when the request brings the token.
func (b *builder) continued() {
	runes := []rune(b.a.Text)
	if len(b.req.Continuation) == 0 {
		b.texts(string(runes[:len(runes)/2]), false)
		b.add(object{
			"candidates":    []any{object{"finishReason": "CONTINUATION", "continuationToken": b.token(), "index": 0}},
			"usageMetadata": b.usage,
		})
		return
	}
	b.a.Text = string(runes[len(runes)/2:])
	b.whole()
}

func (b *builder) token() []byte { return []byte("go on:" + callID(b.req, -1)) }

// half is the first half of the thoughts and the text.
func (b *builder) half() {
	for _, t := range []struct {
		text    string
		thought bool
	}{{b.a.Thought, true}, {b.a.Text, false}} {
		runes := []rune(t.text)
		b.texts(string(runes[:(len(runes)+1)/2]), t.thought)
	}
}

// broken follows the half.
func (b *builder) broken() {
	switch b.a.Fault {
	case "cut":
		b.reply.End = EndCut
	case "hang":
		b.reply.End = EndHang
	case "max_tokens":
		b.finish("MAX_TOKENS", "", nil)
	case "malformed_json":
		b.reply.Chunks = append(b.reply.Chunks, []byte(`{"candidates": [{"content": {"parts": [{"text": "`))
	case "error":
		b.reply.Chunks = append(b.reply.Chunks, errorBody(503, "UNAVAILABLE", "The service became unavailable.", nil))
	}
}

// texts adds chunks of text.
func (b *builder) texts(text string, thought bool) {
	runes := []rune(text)
	size := b.a.Chunk
	if size <= 0 {
		size = len(runes)
	}
	for len(runes) > 0 {
		n := min(size, len(runes))
		part := object{"text": string(runes[:n])}
		if thought {
			part["thought"] = true
		}
		b.add(object{"candidates": []any{object{"content": object{"role": "model", "parts": []any{part}}, "index": 0}}})
		runes = runes[n:]
	}
}

func (b *builder) finish(reason, message string, parts []any) {
	c := object{"finishReason": reason, "index": 0}
	if message != "" {
		c["finishMessage"] = message
	}
	if len(parts) > 0 {
		c["content"] = object{"role": "model", "parts": parts}
	}
	b.add(object{"candidates": []any{c}, "usageMetadata": b.usage})
}

func (b *builder) add(chunk object) {
	chunk["modelVersion"] = b.req.Model
	chunk["responseId"] = "resp_" + callID(b.req, -2)[len("call_"):]
	b.reply.Chunks = append(b.reply.Chunks, mustJSON(chunk))
}

// usageOf is the usage that the script says, else one counted from sizes at four bytes a token.
func (b *builder) usageOf() object {
	u := b.a.Usage
	if u == nil {
		out := len(b.a.Text)
		for _, c := range b.a.Calls {
			out += len(c.Name) + len(canonical(c.Args))
		}
		u = &Usage{
			Prompt: len(b.req.Body)/bytesPerToken + 1, Output: out/bytesPerToken + 1,
			Thoughts: len(b.a.Thought) / bytesPerToken,
		}
		u.Cached = min(b.req.Cached, u.Prompt)
	}
	return object{
		"promptTokenCount": u.Prompt, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Output,
		"thoughtsTokenCount": u.Thoughts, "totalTokenCount": u.Prompt + u.Output + u.Thoughts,
	}
}

func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
