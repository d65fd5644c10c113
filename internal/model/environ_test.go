package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	const google = "https://generativelanguage.googleapis.com/v1beta/"
	cases := []struct {
		name          string
		env           []string
		opt           model.Options
		key, url, err string
	}{
		{name: "gemini key", env: []string{"GEMINI_API_KEY", "a"}, key: "a", url: google},
		{name: "google key wins", env: []string{"GEMINI_API_KEY", "a", "GOOGLE_API_KEY", "b"}, key: "b", url: google},
		{name: "option wins", env: []string{"GOOGLE_API_KEY", "b"}, opt: model.Options{APIKey: "c"}, key: "c", url: google},
		{
			name: "base url with prefix", env: []string{"GEMINI_API_KEY", "a", "GOOGLE_GEMINI_BASE_URL", "http://gw.test/p"},
			key: "a", url: "http://gw.test/p/v1beta/models/",
		},
		{
			name: "option url wins", env: []string{"GEMINI_API_KEY", "a", "GOOGLE_GEMINI_BASE_URL", "http://gw.test/p"},
			opt: model.Options{BaseURL: "http://other.test"}, key: "a", url: "http://other.test/v1beta/models/",
		},
		{
			name: "vertex with a key", env: []string{"GOOGLE_API_KEY", "a", "GOOGLE_GENAI_USE_VERTEXAI", "true"}, key: "a",
			url: "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/",
		},
		{
			name: "vertex base url",
			env:  []string{"GOOGLE_API_KEY", "a", "GOOGLE_GENAI_USE_VERTEXAI", "1", "GOOGLE_VERTEX_BASE_URL", "http://v.test"},
			key:  "a", url: "http://v.test/v1beta1/publishers/google/models/",
		},
		{
			name: "enterprise wins", env: []string{
				"GOOGLE_API_KEY", "a", "GOOGLE_GENAI_USE_VERTEXAI", "1", "GOOGLE_GENAI_USE_ENTERPRISE", "false",
			}, key: "a", url: "https://generativelanguage.googleapis.com/v1beta/",
		},
		{name: "no key", err: "set GEMINI_API_KEY"},
		{name: "line break", env: []string{"GEMINI_API_KEY", "abc\n"}, err: "line break"},
		{name: "vertex without anything", env: []string{"GOOGLE_GENAI_USE_VERTEXAI", "true"}, err: "GOOGLE_CLOUD_PROJECT"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			c.opt.Getenv = environ(c.env...)
			c.opt.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				got = r
				return stream(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`), nil
			})}
			g, err := model.NewGemini(t.Context(), c.opt)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Equal(t, model.Auth, model.AsError(err).Class)
				return
			}
			require.NoError(t, err)
			_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
			require.Nil(t, fault)
			require.Equal(t, c.key, got.Header.Get("X-Goog-Api-Key"))
			require.True(t, strings.HasPrefix(got.URL.String(), c.url), got.URL.String())
		})
	}
}
