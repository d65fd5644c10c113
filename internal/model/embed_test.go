package model

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	answer := `{"embeddings":[{"values":[1,0.5]},{"values":[0,1]}]}`
	status := http.StatusOK
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = r.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	g, err := NewGemini(t.Context(), Options{
		APIKey: "secret", BaseURL: server.URL, Getenv: func(string) string { return "" },
	})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	e := g.Embeddings("gemini-embedding-001")
	require.Equal(t, "gemini-embedding-001", e.Name())
	vectors, err := e.Embed(t.Context(), []string{"one", "two"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 0.5}, {0, 1}}, vectors)
	require.Contains(t, asked, "models/gemini-embedding-001:batchEmbedContents")
	require.Contains(t, asked, "two")

	answer = `{"embeddings":[{"values":[1]}]}`
	_, err = e.Embed(t.Context(), []string{"one", "two"})
	require.ErrorContains(t, err, "1 vectors for 2 texts")

	status, answer = http.StatusTooManyRequests, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down, secret"}}`
	_, err = e.Embed(t.Context(), []string{"one"})
	require.Equal(t, RateLimited, AsError(err).Class)
	require.NotContains(t, err.Error(), "secret")
}
