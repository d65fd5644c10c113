package model

import (
	"context"
	"fmt"

	"google.golang.org/genai"
)

// Embeddings turns texts into vectors with one model of the service. It is safe for concurrent use.
type Embeddings struct {
	gemini *Gemini
	name   string
}

// Embeddings returns the embeddings of a model.
func (g *Gemini) Embeddings(name string) *Embeddings { return &Embeddings{g, name} }

// Name is the model's name: vectors of one name can be compared.
func (e *Embeddings) Name() string { return e.name }

// Embed returns one vector a text, in order. The error is an *Error; nothing is tried again.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	contents := make([]*genai.Content, len(texts))
	for i, text := range texts {
		contents[i] = genai.NewContentFromText(text, genai.RoleUser)
	}
	res, err := plain(ctx, e.gemini, func(ctx context.Context) (*genai.EmbedContentResponse, error) {
		return e.gemini.client.Models.EmbedContent(ctx, e.name, contents, nil)
	})
	if err != nil {
		return nil, err
	}
	if len(res.Embeddings) != len(texts) {
		return nil, &Error{Class: Invalid, Message: fmt.Sprintf(
			"%s gave %d vectors for %d texts", e.name, len(res.Embeddings), len(texts))}
	}
	vectors := make([][]float32, len(texts))
	for i, v := range res.Embeddings {
		vectors[i] = v.Values
	}
	return vectors, nil
}
