package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model/gateway"
	"divisi/internal/spec"
)

// What is free of charge only reads: a program cannot change what belongs to the person's key.
func TestFreeCallsOnlyRead(t *testing.T) {
	t.Parallel()
	for line, status := range map[string]int{
		"anthropic GET /v1/models":                  http.StatusOK,
		"anthropic GET /v1/models/claude-x":         http.StatusOK,
		"anthropic POST /v1/messages/count_tokens":  http.StatusOK,
		"anthropic DELETE /v1/models/claude-x":      http.StatusNotFound,
		"anthropic PUT /v1/messages/count_tokens":   http.StatusNotFound,
		"openai GET /v1/models":                     http.StatusOK,
		"openai DELETE /v1/models/ft:gpt-x:us":      http.StatusNotFound,
		"openai POST /v1/models/ft:gpt-x:us":        http.StatusNotFound,
		"gemini GET /v1beta/models":                 http.StatusOK,
		"gemini POST /v1beta/models/g:countTokens":  http.StatusOK,
		"gemini POST /v1beta/models":                http.StatusNotFound,
		"gemini PATCH /v1beta/models/g":             http.StatusNotFound,
		"gemini POST /v1beta/cachedContents/models": http.StatusNotFound,
		"gemini GET /v1beta/cachedContents/models":  http.StatusNotFound,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			form, call, _ := strings.Cut(line, " ")
			method, path, _ := strings.Cut(call, " ")
			came := 0
			b := newBench(t, gateway.Service{Form: form}, nil, func(w http.ResponseWriter, r *http.Request) {
				if came++; r.Method != method {
					came = -1
				}
				w.WriteHeader(http.StatusOK)
			})
			req, err := http.NewRequestWithContext(t.Context(), method, b.door.URL+path, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set(asks[form].header, map[bool]string{true: "Bearer ", false: ""}[form == spec.GatewayOpenAI]+token)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, status, resp.StatusCode)
			require.Equal(t, status == http.StatusOK, came == 1)
			require.Empty(t, b.used())
		})
	}
}
