package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

func TestRunServesUntilStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("rules: [{steps: [{text: hello}]}]"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"--addr", "127.0.0.1:0", "--delay", "1ms", path}, w) }()
	out := bufio.NewReader(r)
	base, err := out.ReadString('\n')
	require.NoError(t, err)
	base = strings.TrimSpace(strings.TrimPrefix(base, "export GOOGLE_GEMINI_BASE_URL="))
	key, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "export GEMINI_API_KEY=fake\n", key)

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1beta/models/m:generateContent",
		strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`))
	require.NoError(t, err)
	req.Header.Set("X-Goog-Api-Key", "fake")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(text), "hello")
	stop()
	require.NoError(t, chantest.Next(t, done))
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), nil, io.Discard), "exactly one script")
	require.ErrorContains(t, run(t.Context(), []string{"/no/such/script"}, io.Discard), "no/such/script")
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("rules: [{steps: [{text: hello}]}]"), 0o600))
	require.ErrorContains(t, run(t.Context(), []string{"--addr", "nowhere:-1", path}, io.Discard), "listen on")
}
