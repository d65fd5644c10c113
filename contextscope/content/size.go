package content

import (
	"encoding/json"

	"google.golang.org/genai"
)

// Tokens estimates what a content costs, in tokens: bytes/4. It is fixed on purpose, so that what is decided by it
// (trimming a slice) comes out the same everywhere and for ever.
func Tokens(c *genai.Content) int {
	if c == nil {
		return 0
	}
	return TokensOf(Bytes(c.Parts))
}

// Bytes is the size of parts.
func Bytes(parts []*genai.Part) int {
	n := 0
	for _, p := range parts {
		if p != nil {
			n += PartBytes(p)
		}
	}
	return n
}

// PartBytes is about the size of a part in a request.
func PartBytes(p *genai.Part) int {
	n := len(p.Text) + len(p.ThoughtSignature)
	if fc := p.FunctionCall; fc != nil {
		n += len(fc.ID) + len(fc.Name) + ValueBytes(fc.Args)
	}
	if fr := p.FunctionResponse; fr != nil {
		n += len(fr.ID) + len(fr.Name) + ValueBytes(fr.Response)
	}
	if p.InlineData != nil {
		n += len(p.InlineData.Data) + len(p.InlineData.MIMEType)
	}
	if p.FileData != nil {
		n += len(p.FileData.FileURI) + len(p.FileData.MIMEType)
	}
	if p.ExecutableCode != nil {
		n += len(p.ExecutableCode.Code)
	}
	if p.CodeExecutionResult != nil {
		n += len(p.CodeExecutionResult.Output)
	}
	return n
}

// ValueBytes is about the length of v as JSON, without writing it: a request is estimated at every turn.
func ValueBytes(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case json.Number:
		return len(v)
	case map[string]any:
		n := 2
		for k, e := range v {
			n += len(k) + 4 + ValueBytes(e)
		}
		return n
	case []any:
		n := 2
		for _, e := range v {
			n += 1 + ValueBytes(e)
		}
		return n
	case nil, bool:
		return 4
	default:
		return 8
	}
}

// BytesPerToken is the fixed estimate: see Tokens.
const BytesPerToken = 4

// TokensOf is the fixed estimate of so many bytes.
func TokensOf(bytes int) int { return (bytes + BytesPerToken - 1) / BytesPerToken }
