package dashboard

import (
	"context"
	"errors"
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
	redacted := next
	if s.redacted != nil {
		redacted = s.redacted.routes()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		writes := r.Method == http.MethodPost
		who, known := s.visitor(r)
		switch {
		case r.Method != http.MethodGet && !writes:
			w.Header().Set("Allow", "GET, POST")
			http.Error(w, "only GET and POST", http.StatusMethodNotAllowed)
		case !s.hosts[strings.ToLower(r.Host)]:
			http.Error(w, s.misnamed(), http.StatusMisdirectedRequest)
		case !s.sameOrigin(r) || writes && r.Header.Get("Origin") != s.scheme()+r.Host:
			http.Error(w, "another page may not use the dashboard", http.StatusForbidden)
		case !writes && s.admit(w, r):
		case !known:
			http.Error(w, s.unadmitted(r), http.StatusUnauthorized)
		case writes && !who.Writes:
			why := who.Name + " may look, and do nothing here"
			s.misasked("", who.Name, r.URL.Path, errors.New(why))
			s.refuse(w, http.StatusForbidden, why)
		case writes && r.Header.Get("Content-Type") != "application/json":
			http.Error(w, "a request is application/json", http.StatusUnsupportedMediaType)
		default:
			answer := next
			if !who.Raw && s.redacted != nil {
				s.unveil()
				answer = redacted
			}
			v := visit{who, func() bool { _, still := s.visitor(r); return still }}
			answer.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
		}
	})
}

// misnamed tells a browser that has reached the page under a name that is not its own.
func (s *Server) misnamed() string {
	if s.opts.TLS != nil {
		return "this name is not the page's; its names are those that the server was started with"
	}
	return "this name is not the dashboard's; use the address that Divisi printed"
}

// unadmitted tells a browser without a session how to get one.
func (s *Server) unadmitted(r *http.Request) string {
	switch {
	case s.opts.TLS == nil:
		return "open the address that Divisi printed after \"dashboard:\", with its token"
	case r.URL.Query().Has("token"):
		return "this link does not admit any more: it was used, or ten minutes are over; ask the server's operator for another"
	}
	return "this browser is not signed in, or not any more: open a link that the server's operator made for you"
}

// visitorKey is where the context of a request has its visitor.
type visitorKey struct{}

// visit is a request of a visitor; admitted reports whether the browser still is.
type visit struct {
	Visitor

	admitted func() bool
}

// by is the visitor whose request it is.
func by(ctx context.Context) Visitor {
	v, _ := ctx.Value(visitorKey{}).(visit) // the guard sets it
	return v.Visitor
}

// visitor returns the visitor whom the cookie of a request admits.
func (s *Server) visitor(r *http.Request) (Visitor, bool) {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return Visitor{}, false
	}
	return s.sessions.who(c.Value)
}

func (s *Server) scheme() string {
	if s.opts.TLS != nil {
		return "https://"
	}
	return "http://"
}

// admit exchanges a token for a cookie, so that it stays neither in the address nor in the browser's history. It reports false
// where the request has no token that admits.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get("token")
	if token == "" {
		return false
	}
	browser, admitted := s.sessions.admit(token)
	if !admitted {
		return false
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // without encryption, on this machine alone, there is no secure cookie
		Name: s.cookie, Value: browser, Path: "/", HttpOnly: true, Secure: s.opts.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
	rest := r.URL.Query()
	rest.Del("token")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: rest.Encode()} // never that of another host
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// sameOrigin refuses what another site's page asks for. A link that leads a person to the page is no such request.
func (s *Server) sameOrigin(r *http.Request) bool {
	if o, ok := r.Header["Origin"]; ok && (len(o) != 1 || o[0] != s.scheme()+r.Host) {
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
