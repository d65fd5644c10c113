package egress

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUse(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(broken.Close)
	works := hello(t)
	for name, c := range map[string]struct {
		backend, way, host string
		want               Use
	}{
		"it answers":        {works, "plain", site, Use{Asked: true}},
		"a tunnel":          {works, "connect", site + ":443", Use{Asked: true}},
		"nothing listens":   {"", "plain", site, Use{Asked: true, Away: true}},
		"nor for SOCKS":     {"", "socks", site + ":443", Use{Asked: true, Away: true}},
		"it is out of work": {broken.Listener.Addr().String(), "plain", site, Use{Asked: true, Away: true}},
		"an unknown name":   {works, "plain", "nowhere.example", Use{Asked: true}},
		"a refused address": {works, "plain", "127.0.0.1", Use{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, false, c.backend, nil)
			_, _, _ = w.get(t, c.way, c.host)
			require.Equal(t, c.want, w.Use())
		})
	}
}
