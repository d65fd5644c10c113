package main

import (
	"context"

	"divisi/internal/model"
)

// providers connects to the services of the run's models. gemini is the one that knows caches and embeddings.
func (h *holder) providers(ctx context.Context) (base model.Model, gemini *model.Gemini, err error) {
	gemini, err = model.NewGemini(ctx, model.Options{})
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what to set
	}
	return gemini, gemini, nil
}
