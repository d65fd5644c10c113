package egress

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The proxy answers what is asked of itself, also through itself, request after request on one connection and piece by piece; it
// forwards the rest as before.
func TestOwn(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	w := start(t, false, hello(t), nil)
	w.itself = Own{Address: "127.0.0.1:61080", Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_, _ = io.WriteString(out, "first")
			_ = http.NewResponseController(out).Flush()
			<-next
		}
		_, _ = io.WriteString(out, "own "+r.URL.Path)
	})}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	get := func(address string) io.ReadCloser {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		resp, err := tr.RoundTrip(req)
		require.NoError(t, err)
		return resp.Body
	}
	read := func(body io.ReadCloser) string {
		text, err := io.ReadAll(body)
		require.NoError(t, err)
		require.NoError(t, body.Close())
		return string(text)
	}
	require.Equal(t, "own /a", read(get("http://"+w.address+"/a")))
	long := "/" + strings.Repeat("x", 3000)
	require.Equal(t, "own "+long, read(get("http://"+w.address+long)))
	stream := get("http://" + w.address + "/stream")
	first := make([]byte, 5)
	_, err := io.ReadFull(stream, first)
	require.NoError(t, err)
	close(next)
	require.Equal(t, "own /stream", read(stream))

	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: w.address})
	require.Equal(t, "own /b", read(get("http://127.0.0.1:61080/b")))
	require.Equal(t, "hello 198.51.100.7/", read(get("http://198.51.100.7/")))
	require.Empty(t, w.Refused())
}

// A command that ends takes the calls under way with it.
func TestOwnEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	w := start(t, false, "", nil)
	w.itself = Own{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.address+"/", nil)
	require.NoError(t, err)
	go func() {
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	select { // the cleanup of start waits for the proxy's end
	case <-began:
	case <-time.After(10 * time.Second):
		t.Fatal("the request did not come")
	}
}
