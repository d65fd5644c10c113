package model_test

import (
	"context"
	"iter"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/geminitest"
)

var geminiOptions = geminitest.Options{}

// modelFunc answers every request alike.
type modelFunc func(yield func(model.Event, error) bool)

func (f modelFunc) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return iter.Seq2[model.Event, error](f)
}

// recorder keeps the contents of every request.
type recorder struct {
	sent *[][]*genai.Content
	next modelFunc
}

func (r recorder) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	*r.sent = append(*r.sent, req.Contents)
	return r.next.Generate(ctx, req)
}
