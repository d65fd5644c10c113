package model

import "google.golang.org/genai"

// skipSignature is the documented value that stands for a signature which the server did not issue or no longer knows.
const skipSignature = "skip_thought_signature_validator"

// withoutSignatures returns the request with every thought signature gone and the stand-in on the first call of each
// model content, where the server insists on one. The request itself is left alone.
func withoutSignatures(req *Request) *Request {
	out := *req
	out.Contents = StripSignatures(req.Contents)
	return &out
}

// StripSignatures returns the history without its thought signatures, for a model or a key that did not issue them. The
// first call of each model content carries the documented stand-in; parts that were nothing but a signature are left
// out, and so is a content that had no other part. The given contents are not modified.
func StripSignatures(contents []*genai.Content) []*genai.Content {
	out := make([]*genai.Content, 0, len(contents))
	for _, c := range contents {
		own := &genai.Content{Role: c.Role}
		called := false
		for _, p := range c.Parts {
			part := *p
			part.ThoughtSignature = nil
			if part.FunctionCall != nil && !called {
				part.ThoughtSignature, called = []byte(skipSignature), true
			}
			if !emptyPart(&part) {
				own.Parts = append(own.Parts, &part)
			}
		}
		if len(own.Parts) > 0 {
			out = append(out, own)
		}
	}
	return out
}
