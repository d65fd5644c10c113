package model

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genai"
)

// Cacher keeps prefixes of requests with the model's service, by name and for money. Implementations are safe for concurrent
// use.
type Cacher interface {
	// CreateCache stores a prefix. The error is an *Error; nothing is tried again.
	CreateCache(ctx context.Context, req CacheRequest) (Cache, error)
	// ExtendCache lets a cache live for ttl from now. The error is an *Error, of class CacheRefused when there is no such
	// cache any more.
	ExtendCache(ctx context.Context, name string, ttl time.Duration) (Cache, error)
	// DeleteCache ends a cache. The error is an *Error, of class CacheRefused when there is no such cache any more.
	DeleteCache(ctx context.Context, name string) error
}

// CacheRequest is what a cache is to hold. It is never modified.
type CacheRequest struct {
	// Model is the only model that can use the cache.
	Model    string
	System   *genai.Content
	Tools    []*genai.Tool
	Contents []*genai.Content
	// TTL is how long the cache lives unless it is extended.
	TTL time.Duration
	// Label is for people who look at the service's list of caches.
	Label string
}

// Cache is a prefix that the service holds.
type Cache struct {
	// Name is what CachedPrefix and the other calls take.
	Name string
	// Tokens is its size as the service counts it.
	Tokens  int
	Expires time.Time
}

// CachedPrefix says which part of a request the cache Name holds: the system instruction, the tools, the first Contents
// contents, and the first Parts parts of the content after those. At least one part must be left. A request with a
// ToolConfig does not use the cache, because the API takes none beside one.
type CachedPrefix struct {
	Name     string
	Contents int
	Parts    int
}

func validateCached(req *Request) *Error {
	c := req.Cached
	switch {
	case c == nil:
		return nil
	case !isCacheName(c.Name):
		return invalidf("%q is not the name of a cache", c.Name)
	case c.Contents < 0 || c.Parts < 0 || c.Contents >= len(req.Contents) || c.Parts >= len(req.Contents[c.Contents].Parts):
		return invalidf("the cache %s cannot hold %d contents and %d parts: nothing of the request would be left",
			c.Name, c.Contents, c.Parts)
	}
	return nil
}

// isCacheName keeps out what would be another address.
func isCacheName(name string) bool {
	return name != "" && !strings.Contains(name, "..") && !strings.ContainsAny(name, "?&#% \t\r\n")
}

// withoutCached returns what is left to send beside the cache; the request itself where it uses none.
func (req *Request) withoutCached() *Request {
	c := req.Cached
	if c == nil || (req.Config != nil && req.Config.ToolConfig != nil) {
		return req
	}
	out := *req
	first := *req.Contents[c.Contents]
	first.Parts = first.Parts[c.Parts:]
	out.Contents = append([]*genai.Content{&first}, req.Contents[c.Contents+1:]...)
	var config genai.GenerateContentConfig
	if req.Config != nil {
		config = *req.Config
	}
	config.SystemInstruction, config.Tools, config.CachedContent = nil, nil, c.Name
	out.Config = &config
	return &out
}
