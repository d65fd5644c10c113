package model

import (
	"context"
	"fmt"
	"sync"

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

// plain makes one call that is no generation. Its failures become our own, as an answer's do.
func plain[T any](ctx context.Context, g *Gemini, do func(context.Context) (T, error)) (T, error) {
	var none T
	callCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return none, cancelled(ctx.Err())
	}
	c := &call{req: &Request{}, plain: true, stop: stop, encoded: sync.OnceFunc(func() { <-g.slots })}
	defer c.encoded()
	out, err := guarded(func() (T, error) { return do(context.WithValue(callCtx, callKey{}, c)) })
	if err != nil {
		return none, g.explain(classify(ctx, context.Cause(callCtx), c, err))
	}
	return out, nil
}

// guarded turns a panic of the SDK into an error.
func guarded[T any](do func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = invalidf("the SDK panicked: %v", p)
		}
	}()
	return do()
}
