package dashboard

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// allowedHosts are the values of a Host header that a browser on this machine sends. Any other name belongs
// to a foreign page, which made it resolve to this machine.
func allowedHosts(ip string, port int) map[string]bool {
	hosts := map[string]bool{}
	for _, h := range []string{ip, "127.0.0.1", "localhost", "::1"} {
		hosts[net.JoinHostPort(h, strconv.Itoa(port))] = true
		if port == 80 {
			hosts[h] = true
		}
	}
	return hosts
}

// guard passes on only requests that come from this page on this machine. One that writes is JSON, and comes from a script of the
// page: a form of another page can send neither.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		writes := r.Method == http.MethodPost
		switch {
		case r.Method != http.MethodGet && !writes:
			w.Header().Set("Allow", "GET, POST")
			http.Error(w, "only GET and POST", http.StatusMethodNotAllowed)
		case !s.hosts[r.Host]:
			http.Error(w, "this name is not the dashboard's; use the address that Divisi printed", http.StatusMisdirectedRequest)
		case !s.sameOrigin(r) || writes && r.Header.Get("Origin") != "http://"+r.Host:
			http.Error(w, "another page may not use the dashboard", http.StatusForbidden)
		case !writes && s.isToken(r.URL.Query().Get("token")):
			s.admit(w, r)
		case !s.hasCookie(r):
			http.Error(w, "open the address that Divisi printed after \"dashboard:\", with its token", http.StatusUnauthorized)
		case writes && r.Header.Get("Content-Type") != "application/json":
			http.Error(w, "what is sent is application/json", http.StatusUnsupportedMediaType)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *Server) isToken(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.token)) == 1
}

func (s *Server) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(s.cookie)
	return err == nil && s.isToken(c.Value)
}

// admit exchanges the token for a cookie, so that it stays neither in the address nor in the browser's history.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // without encryption, on this machine alone, there is no secure cookie
		Name: s.cookie, Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	rest := r.URL.Query()
	rest.Del("token")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: rest.Encode()} // never that of another host
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// sameOrigin refuses what another site's page asks for. A link that leads a person to the page is no such request.
func (s *Server) sameOrigin(r *http.Request) bool {
	if o, ok := r.Header["Origin"]; ok && (len(o) != 1 || o[0] != "http://"+r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	default:
		return !strings.HasPrefix(r.URL.Path, "/api/") && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
}

func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
