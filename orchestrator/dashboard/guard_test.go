package dashboard

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/act"
)

// server makes the page of a server, with TLS before it, and returns what asks it and what was done to its runs.
func server(t *testing.T) (s *Server, ask func(method, path, browser, body string) *httptest.ResponseRecorder, done func() []did) {
	t.Helper()
	o := options(sampleLog(t, 20))
	o.TLS, o.Hosts = &tls.Config{MinVersion: tls.VersionTLS12}, []string{"build"}
	s = newServer(o)
	s.named(8443)
	page := s.guard(s.routes())
	ask = func(method, path, browser, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, s.address+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", s.address)
		r.AddCookie(&http.Cookie{Name: s.cookie, Value: browser})
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		return w
	}
	return s, ask, func() []did { return o.Controller.(*place).acts } //nolint:forcetypeassert // options
}

// A viewer is refused at every address that writes, with each verb, and nothing is done.
func TestAViewerWritesNowhere(t *testing.T) {
	t.Parallel()
	s, ask, done := server(t)
	browser, admitted := s.sessions.admit(s.sessions.link(Visitor{Name: "guest", Raw: true}, time.Minute))
	require.True(t, admitted)
	writes := 0
	for address := range s.api() {
		path, post := strings.CutPrefix(address, "POST ")
		if !post {
			continue
		}
		path = strings.NewReplacer("{run}", "r1", "{id}", "log-web@3").Replace(path)
		for _, e := range act.All() {
			writes++
			got := ask(http.MethodPost, prefix+path, browser, fmt.Sprintf(`{"verb":%q,"option":"accept"}`, e.Name))
			require.Equal(t, http.StatusForbidden, got.Code, address)
			require.JSONEq(t, `{"error":"guest may look, and do nothing here"}`, got.Body.String())
		}
	}
	require.Equal(t, 4*len(act.All()), writes)
	require.Empty(t, done())
}

// Who is not signed in on a server is told how to be: an address that a terminal printed is of no use there.
func TestAServerTellsHowToSignIn(t *testing.T) {
	t.Parallel()
	s, ask, _ := server(t)
	link := strings.TrimPrefix(s.Link(Visitor{Name: "ana"}, time.Minute), s.address)
	late := strings.TrimPrefix(s.Link(Visitor{Name: "ben"}, 11*time.Minute), s.address)
	require.Equal(t, http.StatusSeeOther, ask(http.MethodGet, link, "", "").Code)
	s.sessions.clock = func() time.Time { return time.Now().Add(12 * time.Minute) }
	for path, says := range map[string]string{
		link: "does not admit any more", late: "does not admit any more", "/?token=x": "operator", "/runs": "not signed in", "/api/v1/me": "not signed in",
	} {
		got := ask(http.MethodGet, path, "", "")
		require.Equal(t, http.StatusUnauthorized, got.Code, path)
		require.Contains(t, got.Body.String(), says)
	}
	s.hosts = map[string]bool{"other:8443": true}
	got := ask(http.MethodGet, "/runs", "", "")
	require.Equal(t, http.StatusMisdirectedRequest, got.Code)
	require.Contains(t, got.Body.String(), "started with")
}
