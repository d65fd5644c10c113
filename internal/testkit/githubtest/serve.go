package githubtest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fault is an answer that refuses.
type fault struct {
	code    int
	message string
	header  map[string]string
}

func refuse(code int, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...), nil}
}

// call is one request of the REST interface.
type call struct {
	*http.Request

	as     Token
	header http.Header
}

// in reads the body strictly.
func (c *call) in(v any) *fault {
	d := json.NewDecoder(c.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse(http.StatusUnprocessableEntity, "Invalid request: %v", err)
	}
	return nil
}

type handler func(c *call) (any, *fault)

func (h *Hub) serve(root string) http.Handler {
	mux := http.NewServeMux()
	at := fmt.Sprintf("/api/v3/repos/%s/%s", h.o.Owner, h.o.Name)
	for pattern, do := range h.routes() {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+at+path, h.answer(pattern, do))
	}
	mux.HandleFunc("GET /api/v3/user", h.answer("GET /user", func(c *call) (any,
		*fault,
	) {
		return map[string]any{"login": c.as.Login}, nil
	}))
	mux.HandleFunc("POST /api/graphql", h.answer("POST /graphql", h.graph))
	mux.Handle(fmt.Sprintf("/%s/%s.git/", h.o.Owner, h.o.Name), h.gitServer(root))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.t.Errorf("unknown request %s %s", r.Method, r.URL)
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
	})
	return mux
}

// answer serves a call: its rights, its limits, what a test does before and after it, and the tag of its answer.
func (h *Hub) answer(name string, do handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		as, known := h.token(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		c := &call{r, as, w.Header()}
		var data any
		bad := refuse(http.StatusUnauthorized, "Bad credentials")
		if known {
			data, bad = h.done(name, c, do)
		}
		if bad != nil {
			for k, v := range bad.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(bad.code)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": bad.message}) // a client that is gone
			return
		}
		h.reply(w, c, data)
	}
}

func (h *Hub) token(secret string) (as Token, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	as, known = h.o.Tokens[secret]
	return as, known
}

func (h *Hub) done(name string, c *call, do handler) (any, *fault) {
	if code := h.o.Before(name); code != 0 {
		return nil, refuse(code, "before")
	}
	h.mu.Lock()
	write := c.Method != http.MethodGet && name != "POST /graphql"
	if bad := h.limited(write); bad != nil {
		h.counts["limited"]++
		h.mu.Unlock()
		return nil, bad
	}
	if write && !c.as.Push {
		h.mu.Unlock()
		return nil, refuse(http.StatusForbidden, "Resource not accessible by personal access token")
	}
	data, bad := do(c)
	if bad == nil {
		h.counts[name]++
	}
	h.mu.Unlock()
	if bad != nil {
		return nil, bad
	}
	if code := h.o.After(name); code != 0 {
		return nil, refuse(code, "after")
	}
	return data, nil
}

// limited is the secondary limit on writes. The caller holds mu.
func (h *Hub) limited(write bool) *fault {
	if !write || h.o.Writes == 0 {
		return nil
	}
	now := h.o.Now()
	h.writes = since(h.writes, now.Add(-time.Minute))
	if len(h.writes) >= h.o.Writes {
		return &fault{http.StatusForbidden, "You have exceeded a secondary rate limit", map[string]string{"Retry-After": "60"}}
	}
	h.writes = append(h.writes, now)
	return nil
}

func since(times []time.Time, from time.Time) []time.Time {
	for len(times) > 0 && times[0].Before(from) {
		times = times[1:]
	}
	return times
}

// reply writes an answer, with its tag where it is read.
func (h *Hub) reply(w http.ResponseWriter, c *call, data any) {
	if to, is := data.(redirect); is {
		http.Redirect(w, c.Request, string(to), http.StatusFound)
		return
	}
	body, raw := data.([]byte)
	if !raw {
		var err error
		if body, err = json.Marshal(data); err != nil {
			h.t.Errorf("answer %s: %v", c.URL, err)
		}
	}
	code := http.StatusOK
	if c.Method == http.MethodGet {
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
		w.Header().Set("ETag", tag)
		if c.Header.Get("If-None-Match") == tag {
			h.Do(func() { h.counts["304"]++ })
			w.WriteHeader(http.StatusNotModified)
			return
		}
	} else if strings.HasSuffix(c.URL.Path, "/pulls") {
		code = http.StatusCreated
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that is gone
}

type redirect string

// page cuts a list, and links the page that follows.
func page[T any](c *call, list []T) []T {
	per, _ := strconv.Atoi(c.URL.Query().Get("per_page"))
	at, _ := strconv.Atoi(c.URL.Query().Get("page"))
	if per <= 0 {
		per = 30
	}
	from := min(max(at-1, 0)*per, len(list))
	to := min(from+per, len(list))
	if to < len(list) {
		next := *c.URL
		query := next.Query()
		query.Set("page", strconv.Itoa(max(at, 1)+1))
		next.RawQuery = query.Encode()
		c.header.Set("Link", fmt.Sprintf(`<http://%s%s>; rel="next"`, c.Host, next.RequestURI()))
	}
	return append([]T{}, list[from:to]...)
}

// log is another host, which must see no credential.
func (h *Hub) log(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		h.t.Error("the credential went to another host")
	}
	h.Do(func() {
		for _, c := range h.Checks {
			if strconv.FormatInt(c.ID, 10) == strings.TrimPrefix(r.URL.Path, "/") {
				_, _ = w.Write([]byte(c.Log)) // a client that is gone
			}
		}
	})
}

// gitServer is git's own server, behind the rights of tokens. CI begins on what a push brings.
func (h *Hub) gitServer(root string) http.Handler {
	path, err := exec.CommandContext(context.Background(), "git", "--exec-path").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		as, known := h.token(password)
		push := strings.HasSuffix(r.URL.Path, "git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
		switch {
		case !known:
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "", http.StatusUnauthorized)
			return
		case push && !as.Push:
			http.Error(w, "", http.StatusForbidden)
			return
		}
		before := h.refs()
		if code := h.o.Before("push"); push && r.Method == http.MethodPost && code != 0 {
			http.Error(w, "", code)
			return
		}
		backend.ServeHTTP(w, r)
		if push && r.Method == http.MethodPost {
			h.pushed(before, as)
			h.o.After("push")
		}
	})
}

// Protect keeps refs with these beginnings from being changed by a push.
func (h *Hub) Protect(prefixes ...string) {
	script := "#!/bin/sh\ncase $1 in\n"
	for _, p := range prefixes {
		script += p + "*) echo 'protected branch hook declined' >&2; exit 1;;\n"
	}
	h.hook("update", script+"esac\n")
}

func (h *Hub) refs() map[string]string {
	refs := map[string]string{}
	out, _ := h.run(h.Dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
	for line := range strings.Lines(out) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = sha
	}
	return refs
}

func (h *Hub) pushed(before map[string]string, as Token) {
	after := h.refs()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts["push"]++
	for ref, sha := range after {
		if before[ref] != sha && !as.Silent && h.o.CI != nil {
			h.report(sha, h.o.CI(ref, sha)...)
		}
	}
}
