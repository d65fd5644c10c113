package model_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

// TestVertexUsesDefaultCredentials sets the real environment, because Google's libraries read it themselves.
func TestVertexUsesDefaultCredentials(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := fmt.Fprint(w, `{"access_token":"adc-token","token_type":"Bearer","expires_in":3600}`); err != nil {
			panic(err)
		}
	}))
	t.Cleanup(tokens.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, tokens.URL))
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p1")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
	t.Setenv("GOOGLE_API_KEY", "")
	t.Setenv("GEMINI_API_KEY", "")

	var got *http.Request
	g, err := model.NewGemini(t.Context(), model.Options{HTTPClient: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			got = r
			return stream(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`), nil
		})}})
	require.NoError(t, err)
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
	require.Nil(t, fault)
	require.Equal(t, "Bearer adc-token", got.Header.Get("Authorization"))
	require.Equal(t, "europe-west4-aiplatform.googleapis.com", got.URL.Host)
	require.Contains(t, got.URL.Path, "/projects/p1/locations/europe-west4/")
	require.Empty(t, got.Header.Get("X-Divisi-Task"), "Google's own address gets none of our headers")
}

func serviceAccount(t *testing.T, tokenURL string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p1", "client_email": "a@b.test", "token_uri": tokenURL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}
