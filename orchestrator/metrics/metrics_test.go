package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestText(t *testing.T) {
	t.Parallel()
	plain, labelled := Family{Name: "a_b", Help: "About a."}, Family{Name: "c", Help: "About c.", Labels: []string{"x", "y"}}
	plain.Add(1.5)
	labelled.Add(12345678901, "one", `a "b" \ `+"\n")
	labelled.Add(-1, "", "two")
	var b strings.Builder
	require.NoError(t, Write(&b, []Family{plain, labelled, {Name: "none", Help: "Nothing."}}))
	require.Equal(t, `# HELP a_b About a.
# TYPE a_b gauge
a_b 1.5
# HELP c About c.
# TYPE c gauge
c{x="one",y="a \"b\" \\ \n"} 1.2345678901e+10
c{x="",y="two"} -1
# HELP none Nothing.
# TYPE none gauge
`, b.String())
}

func get(t *testing.T, url, host string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	r.Host = host
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Body.Close()) }()
	data, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, string(data), a.Header.Get("Content-Type")
}

func TestServe(t *testing.T) {
	t.Parallel()
	var fails error
	at, stop, err := Serve(t.Context(), "127.0.0.1:0", func(context.Context) ([]Family, error) {
		return []Family{{Name: "x", Help: "X.", Samples: []Sample{{Number: 3}}}}, fails
	})
	require.NoError(t, err)
	code, text, kind := get(t, "http://"+at+"/metrics", "")
	require.Equal(t, []any{200, "# HELP x X.\n# TYPE x gauge\nx 3\n", format}, []any{code, text, kind})
	code, _, _ = get(t, "http://"+at+"/metrics", "evil.example.com")
	require.Equal(t, http.StatusForbidden, code)
	code, _, _ = get(t, "http://"+at+"/", "")
	require.Equal(t, http.StatusNotFound, code)
	fails = errors.New("secret reason")
	code, text, _ = get(t, "http://"+at+"/metrics", "")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.NotContains(t, text, "secret")
	_, _, err = Serve(t.Context(), at, nil)
	require.ErrorContains(t, err, "in use")
	stop()
}

func TestNoOtherMachineReadsIt(t *testing.T) {
	t.Parallel()
	for addr, fine := range map[string]bool{
		"127.0.0.1:9100": true, "[::1]:9100": true, "localhost:0": true,
		"0.0.0.0:9100": false, ":9100": false, "9100": false, "192.0.2.1:9100": false, "example.com:9100": false,
	} {
		err := Check(addr)
		require.Equal(t, fine, err == nil, addr)
		if !fine {
			require.ErrorAs(t, err, new(*usage.Error), addr)
		}
	}
}
