package prefix

import (
	"context"
	"time"

	"divisi/internal/model"

	"google.golang.org/genai"
)

const (
	// cacheTTL is how long a cache outlives a process that cannot delete it any more, and so the most that is paid for nothing.
	cacheTTL = 10 * time.Minute
	// keepEvery is the interval of extensions: one that fails can be made up for by the next.
	keepEvery = 4 * time.Minute
	// expiryMargin is how long before its end a cache is not named any more: a request may wait for a while at a limit.
	expiryMargin = 30 * time.Second
	// createLimit and deleteLimit bound the calls about a cache.
	createLimit = 2 * time.Minute
	deleteLimit = 10 * time.Second
)

// cache is a cache by name. Its fields but name and gone are the keeper's to guard.
type cache struct {
	name string
	// expires is reckoned by our own clock, from before it was asked for: the service's may differ.
	expires time.Time
	// used is when it was last named in a call.
	used time.Time
	// gone is closed when the service has said that there is no such cache.
	gone chan struct{}
}

// hold makes a cache, keeps it alive while calls name it, and deletes it. It is the cache's own goroutine.
func (k *Keeper) hold(ctx context.Context, g *group, p Prefix) {
	c := k.create(ctx, g, p)
	if c == nil {
		return
	}
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
			if !k.idle(g, c) {
				k.extend(ctx, c)
				continue
			}
		case <-ctx.Done():
			k.forget(g)
		}
		k.remove(ctx, c)
		return
	}
}

// create makes the cache. Where that fails the prefix goes without one from now on.
func (k *Keeper) create(ctx context.Context, g *group, p Prefix) *cache {
	limited, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	req := model.CacheRequest{
		Model: p.Model, System: p.System, Tools: p.Tools, TTL: cacheTTL, Label: "divisi " + p.Digest[:min(len(p.Digest), 12)],
	}
	if len(p.Shared) > 0 {
		req.Contents = []*genai.Content{{Role: genai.RoleUser, Parts: p.Shared}}
	}
	began := k.opt.Clock()
	made, err := k.opt.Cacher.CreateCache(limited, req)
	if err != nil && ctx.Err() == nil {
		k.opt.Log.Warn().Err(err).Str("model", p.Model).Int("tokens", p.Tokens).
			Msg("no cache could be made for a shared prefix: its agents go on without one")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	g.making, g.barred = false, err != nil
	if err != nil {
		return nil
	}
	g.cache = &cache{name: made.Name, expires: began.Add(cacheTTL), used: k.opt.Clock(), gone: make(chan struct{})}
	g.wake()
	return g.cache
}

// idle forgets a cache that no call has named since the tick before, and reports that. Agents may still be at work: then
// their histories have outgrown it, or they run long commands.
func (k *Keeper) idle(g *group, c *cache) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opt.Clock().Sub(c.used) < keepEvery {
		return false
	}
	g.cache = nil
	return true
}

func (k *Keeper) forget(g *group) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g.cache = nil
}

func (k *Keeper) extend(ctx context.Context, c *cache) {
	limited, cancel := context.WithTimeout(ctx, deleteLimit)
	defer cancel()
	began := k.opt.Clock()
	_, err := k.opt.Cacher.ExtendCache(limited, c.name, cacheTTL)
	switch {
	case err == nil:
		k.mu.Lock()
		c.expires = began.Add(cacheTTL)
		k.mu.Unlock()
	case model.AsError(err).Class == model.CacheRefused:
		k.Drop(c.name)
	case ctx.Err() == nil:
		k.opt.Log.Info().Err(err).Str("cache", c.name).Msg("a cache was not extended")
	}
}

// remove deletes a cache, also when the keeper is closing. One that cannot be deleted ends by itself.
func (k *Keeper) remove(ctx context.Context, c *cache) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteLimit)
	defer cancel()
	if err := k.opt.Cacher.DeleteCache(limited, c.name); err != nil {
		k.opt.Log.Info().Err(err).Str("cache", c.name).Msg("a cache was not deleted: it ends by itself")
	}
}

// Drop says that the service has refused a cache: no call names it any more, and none is made for that prefix again.
func (k *Keeper) Drop(name string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, g := range k.groups {
		if g.cache != nil && g.cache.name == name {
			close(g.cache.gone)
			g.cache, g.barred = nil, true
			return
		}
	}
}
