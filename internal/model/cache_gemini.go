package model

import (
	"context"
	"sync"
	"time"

	"google.golang.org/genai"
)

// CreateCache implements Cacher.
func (g *Gemini) CreateCache(ctx context.Context, req CacheRequest) (Cache, error) {
	if err := validateCache(req); err != nil {
		return Cache{}, err
	}
	return g.cache(ctx, func(ctx context.Context) (*genai.CachedContent, error) {
		return g.client.Caches.Create(ctx, req.Model, &genai.CreateCachedContentConfig{
			TTL: req.TTL, DisplayName: req.Label, SystemInstruction: clone(req.System), Tools: clone(req.Tools),
			Contents: cloneContents(req.Contents),
		})
	})
}

func validateCache(req CacheRequest) *Error {
	if req.System == nil && len(req.Tools) == 0 && len(req.Contents) == 0 {
		return invalidf("there is nothing to cache")
	}
	for i, c := range req.Contents {
		if err := validateContent(c, i); err != nil {
			return err
		}
	}
	if err := validateModel(req.Model); err != nil {
		return err
	}
	return validateConfig(req.Model, &genai.GenerateContentConfig{SystemInstruction: req.System, Tools: req.Tools})
}

// ExtendCache implements Cacher.
func (g *Gemini) ExtendCache(ctx context.Context, name string, ttl time.Duration) (Cache, error) {
	if !isCacheName(name) {
		return Cache{}, invalidf("%q is not the name of a cache", name)
	}
	return g.cache(ctx, func(ctx context.Context) (*genai.CachedContent, error) {
		return g.client.Caches.Update(ctx, name, &genai.UpdateCachedContentConfig{TTL: ttl})
	})
}

// DeleteCache implements Cacher.
func (g *Gemini) DeleteCache(ctx context.Context, name string) error {
	if !isCacheName(name) {
		return invalidf("%q is not the name of a cache", name)
	}
	_, err := g.cache(ctx, func(ctx context.Context) (*genai.CachedContent, error) {
		_, err := g.client.Caches.Delete(ctx, name, nil)
		return &genai.CachedContent{}, err
	})
	return err
}

// cache makes one call about a cache and turns what comes back into our own terms.
func (g *Gemini) cache(ctx context.Context, do func(context.Context) (*genai.CachedContent, error)) (Cache, error) {
	made, err := plain(ctx, g, do)
	if err != nil {
		return Cache{}, err
	}
	out := Cache{Name: made.Name, Expires: made.ExpireTime}
	if u := made.UsageMetadata; u != nil {
		out.Tokens = int(u.TotalTokenCount)
	}
	return out, nil
}

// plain makes one call that is no generation. Its failures become our own, as an answer's do.
func plain[T any](ctx context.Context, g *Gemini, do func(context.Context) (T, error)) (T, error) {
	var none T
	callCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return none, cancelled(ctx.Err())
	}
	c := &call{req: &Request{}, plain: true, stop: stop, encoded: sync.OnceFunc(func() { <-g.slots })}
	defer c.encoded()
	out, err := guarded(func() (T, error) { return do(context.WithValue(callCtx, callKey{}, c)) })
	if err != nil {
		return none, g.explain(classify(ctx, context.Cause(callCtx), c, err))
	}
	return out, nil
}

// guarded turns a panic of the SDK into an error.
func guarded[T any](do func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = invalidf("the SDK panicked: %v", p)
		}
	}()
	return do()
}
