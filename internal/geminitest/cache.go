package geminitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"
)

// defaultTTL is how long a cache lives that asks for nothing.
const defaultTTL = time.Hour

// noCache is what the API says of a cache that never was, is over, or is another project's: it does not tell which.
const noCache = "CachedContent not found (or permission denied)"

// cacheBody is a cache as a client writes it. In a creation everything but the lifetime may be left out.
type cacheBody struct {
	Model             string           `json:"model"`
	DisplayName       string           `json:"displayName"`
	TTL               string           `json:"ttl"`
	SystemInstruction *genai.Content   `json:"systemInstruction"`
	Tools             []*genai.Tool    `json:"tools"`
	Contents          []*genai.Content `json:"contents"`
}

// held is one cache.
type held struct {
	cacheBody

	name    string
	tokens  int
	created time.Time
	expires time.Time
}

// caches is what the server holds for its clients. It is safe for concurrent use.
type caches struct {
	mu   sync.Mutex
	made int
	all  map[string]*held
}

// find returns a copy of a cache that has not expired.
func (c *caches) find(name string) (held, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.all[name]
	if !ok || !time.Now().Before(h.expires) {
		return held{}, false
	}
	return *h, true
}

func (c *caches) create(b cacheBody, tokens int, ttl time.Duration) held {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	h := &held{cacheBody: b, name: fmt.Sprintf("cachedContents/c%d", c.made), tokens: tokens, created: time.Now()}
	h.expires = h.created.Add(ttl)
	c.all[h.name] = h
	return *h
}

func (c *caches) extend(name string, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.all[name]; h != nil {
		h.expires = time.Now().Add(ttl)
	}
}

func (c *caches) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, name)
}

// live lists the names of the caches that have not expired.
func (c *caches) live() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for i := 1; i <= c.made; i++ {
		name := fmt.Sprintf("cachedContents/c%d", i)
		if h := c.all[name]; h != nil && time.Now().Before(h.expires) {
			names = append(names, name)
		}
	}
	return names
}

// Caches lists the names of the explicit caches that live, oldest first.
func (s *Server) Caches() []string { return s.caches.live() }

// DropCaches ends all explicit caches at once, as the service may at any time.
func (s *Server) DropCaches() {
	for _, name := range s.caches.live() {
		s.caches.remove(name)
	}
}

// serveCache answers POST cachedContents, and GET, PATCH and DELETE cachedContents/{id}.
func (s *Server) serveCache(w http.ResponseWriter, r *http.Request) {
	i := s.journal.begin(time.Now().UnixNano())
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var reply Reply
	var entry Entry
	reason := ""
	if err == nil {
		reply, entry, reason = s.cache(r, raw)
	} else {
		reply = errorReply(http.StatusBadRequest, "INVALID_ARGUMENT", "request body: "+err.Error(), nil)
	}
	if reason != "" {
		reply = errorReply(http.StatusBadRequest, "INVALID_ARGUMENT", reason, nil)
		s.journal.violate(Violation{Reason: reason})
	}
	s.journal.update(i, func(e *Entry) {
		e.Method, e.Model, e.Cache, e.Fault = cacheMethods[r.Method], entry.Model, entry.Cache, entry.Fault
		e.Reason, e.Status, e.BytesIn, e.End = reason, reply.Status, len(raw), time.Now().UnixNano()
	})
	write(w, reply)
}

// cacheMethods are the words of the log.
var cacheMethods = map[string]string{
	http.MethodPost: "createCache", http.MethodGet: "getCache", http.MethodPatch: "extendCache", http.MethodDelete: "deleteCache",
}

// cache does what a request about a cache asks for; reason is the violation, if any.
func (s *Server) cache(r *http.Request, raw []byte) (reply Reply, entry Entry, reason string) {
	if r.Header.Get("X-Goog-Api-Key") == "" {
		return Reply{}, entry, "Method doesn't allow unregistered callers: the x-goog-api-key header is missing."
	}
	if r.Method == http.MethodPost {
		return s.createCache(raw)
	}
	entry.Cache = "cachedContents/" + r.PathValue("id")
	h, ok := s.caches.find(entry.Cache)
	if !ok {
		return errorReply(http.StatusForbidden, "PERMISSION_DENIED", noCache, nil), entry, ""
	}
	entry.Model = shortModel(h.Model)
	switch r.Method {
	case http.MethodDelete:
		s.caches.remove(h.name)
		return Reply{Status: http.StatusOK, Body: []byte("{}")}, entry, ""
	case http.MethodPatch:
		ttl, err := patchedTTL(raw)
		if err != nil {
			return Reply{}, entry, err.Error()
		}
		s.caches.extend(h.name, ttl)
		h.expires = time.Now().Add(ttl)
	}
	return h.reply(), entry, ""
}

func (s *Server) createCache(raw []byte) (reply Reply, entry Entry, reason string) {
	b, err := parseCache(raw)
	if err != nil {
		return Reply{}, entry, err.Error()
	}
	entry.Model = shortModel(b.Model)
	if s.opt.CacheFault != "" {
		entry.Fault = s.opt.CacheFault
		return refuse(Answer{Fault: s.opt.CacheFault}), entry, ""
	}
	ttl, err := lifetime(b.TTL)
	if err != nil {
		return Reply{}, entry, err.Error()
	}
	tokens := len(canonicalPrefix(b.SystemInstruction, b.Tools, b.Contents))/bytesPerToken + 1
	if tokens < s.opt.MinCache {
		small := fmt.Sprintf("Cached content is too small. total_token_count=%d, min_total_token_count=%d",
			tokens, s.opt.MinCache)
		return errorReply(http.StatusBadRequest, "INVALID_ARGUMENT", small, nil), entry, ""
	}
	h := s.caches.create(*b, tokens, ttl)
	entry.Cache = h.name
	return h.reply(), entry, ""
}

func parseCache(raw []byte) (*cacheBody, error) {
	var b cacheBody
	if err := decodeStrict(raw, &b); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(b.Model, "models/") {
		return nil, fmt.Errorf("the model of a cache is named models/NAME, not %q", b.Model)
	}
	if b.SystemInstruction == nil && len(b.Tools) == 0 && len(b.Contents) == 0 {
		return nil, errors.New("the cache has no content")
	}
	if err := checkParts(raw); err != nil {
		return nil, err
	}
	return &b, checkTools(b.Tools)
}

func patchedTTL(raw []byte) (time.Duration, error) {
	var b struct {
		TTL string `json:"ttl"`
	}
	if err := decodeStrict(raw, &b); err != nil {
		return 0, err
	}
	if b.TTL == "" {
		return 0, errors.New("only the lifetime of a cache can be changed")
	}
	return lifetime(b.TTL)
}

func decodeStrict(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	if dec.More() {
		return errors.New("request body: more than one document")
	}
	return nil
}

// lifetime reads a duration as the API writes it: seconds with an s.
func lifetime(ttl string) (time.Duration, error) {
	if ttl == "" {
		return defaultTTL, nil
	}
	d, err := time.ParseDuration(ttl)
	if err != nil || !strings.HasSuffix(ttl, "s") || strings.ContainsAny(ttl, "hmnuµ") || d <= 0 {
		return 0, fmt.Errorf("%q is not a lifetime in seconds", ttl)
	}
	return d, nil
}

func (h held) reply() Reply {
	return Reply{Status: http.StatusOK, Body: mustJSON(object{
		"name": h.name, "model": h.Model, "displayName": h.DisplayName, "createTime": h.created, "updateTime": h.created,
		"expireTime": h.expires, "usageMetadata": object{"totalTokenCount": h.tokens},
	})}
}

func shortModel(name string) string { return strings.TrimPrefix(name, "models/") }
