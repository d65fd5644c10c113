package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"divisi/internal/model"
)

// Embedder turns texts into vectors.
type Embedder interface {
	// Name says which model with which settings this is.
	Name() string
	// Embed returns one vector a text, in order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// embedding is the vector of one text.
type embedding struct {
	Model  string    `json:"model"`
	Text   string    `json:"text"`
	Vector []float32 `json:"vector"`
}

// embeddingName names the file of a text's vector. It follows from what was asked, so that no order matters.
func embeddingName(name, text string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + text))
	return embeddingStem + hex.EncodeToString(sum[:16]) + ".json"
}

// Embedder returns an embedder that has its vectors with next kept.
func (r *Recorder) Embedder(next Embedder) Embedder { return recordedTexts{next, r} }

type recordedTexts struct {
	Embedder

	recorder *Recorder
}

// Embed implements Embedder.
func (e recordedTexts) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return vectors, err
	}
	for i, text := range texts {
		x := embedding{e.Name(), text, vectors[i]}
		if err := e.recorder.dir.write(embeddingName(x.Model, text), x, e.recorder.secrets); err != nil {
			e.recorder.onError(err)
		}
	}
	return vectors, nil
}

// Embedder returns an embedder that answers as the recorded one of that name did.
func (r *Replay) Embedder(name string) Embedder { return replayedTexts{r, name} }

type replayedTexts struct {
	replay *Replay
	name   string
}

// Name implements Embedder.
func (e replayedTexts) Name() string { return e.name }

// Embed implements Embedder. A text that the recording does not have is an error: then words alone are searched for.
func (e replayedTexts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		name := embeddingName(e.name, text)
		if !e.replay.texts[name] {
			return nil, &model.Error{Class: model.Unavailable, Message: fmt.Sprintf(
				"the recording %s has no vector for %.60q", e.replay.dir, text)}
		}
		x, err := e.replay.embedding(name)
		if err != nil {
			return nil, err
		}
		out[i] = x.Vector
	}
	return out, nil
}

func (r *Replay) embedding(name string) (embedding, error) {
	var x embedding
	data, err := r.dir.read(name)
	if err != nil {
		return x, err
	}
	if err := decode(data, &x); err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if len(x.Vector) == 0 {
		return x, fmt.Errorf("%s has no vector", name)
	}
	return x, nil
}
