package sandbox

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const askOwn = `
import os, urllib.request
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for opener in direct, urllib.request.build_opener():
    print(opener.open(os.environ["SERVICE"] + "/a").read().decode())
`

// A command finds its service at the address that it is told, directly and by its proxy, on machines with namespaces and without; and
// reaches no other host by it.
func TestSlowOwn(t *testing.T) {
	t.Parallel()
	service := Own{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "own "+r.URL.Path) }),
		Environ: func(address string) []string { return []string{"SERVICE=" + address} },
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, Command{
			Args: []string{"python3", "-c", askOwn}, Dir: p.tree, Env: p.env, Writable: []string{p.tree}, Own: service,
		})
		require.Contains(t, out.Text(), "own /a\nown /a\n")
		require.Empty(t, out.Refused)
	}, full, sharedUser, oneWorld)
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, Command{
			Args: []string{"python3", "-c", `import urllib.request
try:
    urllib.request.urlopen("http://192.0.2.1/", timeout=5)
except Exception as e:
    print(e)`},
			Dir: p.tree, Env: p.env, Writable: []string{p.tree}, Own: service,
		})
		require.Contains(t, out.Text(), "403")
	}, full, sharedUser)
}
