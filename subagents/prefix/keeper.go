package prefix

import (
	"context"
	"sync"
	"time"

	"divisi/internal/model"

	"github.com/rs/zerolog"
	"google.golang.org/genai"
)

const (
	// staggerLimit is the longest wait for a sibling's first byte. A model may think for minutes before it: then full price
	// for some is better than nobody working.
	staggerLimit = 20 * time.Second
	// warmth is how long a prefix is taken to be in the service's own cache after it was last used. Google promises no time
	// ("a short amount"); users have seen prefixes live for minutes and gone after fifteen; five is what other services
	// promise. Being wrong costs one more full prompt for each of the siblings that then start together.
	warmth = 5 * time.Minute
)

// Prefix is what the requests of siblings begin with, byte for byte. It is never modified.
type Prefix struct {
	Model string
	// Digest tells prefixes of one model apart; requests without one are on their own.
	Digest string
	// Tokens is its estimated size.
	Tokens int
	// System, Tools and Shared, the first parts of the first content, are the prefix itself, for a cache of its own.
	System *genai.Content
	Tools  []*genai.Tool
	Shared []*genai.Part
}

// Options configure a Keeper.
type Options struct {
	// Cacher makes explicit caches; nil means that there are none.
	Cacher model.Cacher
	// Clock defaults to the system's.
	Clock func() time.Time
	Log   zerolog.Logger
}

// Keeper knows who uses which prefix. A worker process has one. It is safe for concurrent use; a nil Keeper lets everybody
// go at once and without a cache.
type Keeper struct {
	opt    Options
	start  func(func(context.Context))
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	groups map[key]*group
	closed bool
}

// key names a prefix.
type key struct{ model, digest string }

// group is those who share a prefix.
type group struct {
	users int
	// first has gone ahead and has no answer yet: the others wait until changed is closed.
	first     *Use
	warmUntil time.Time
	changed   chan struct{}

	making bool
	cache  *cache
	// barred says that the service refused a cache for this prefix: it is not asked again.
	barred bool
}

// NewKeeper returns a keeper. Close ends it.
func NewKeeper(opt Options) *Keeper {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{opt: opt, cancel: cancel, groups: map[key]*group{}}
	k.start = func(f func(context.Context)) { k.done.Go(func() { f(ctx) }) }
	return k
}

// Close deletes the caches that are left and waits until that is done. Whoever enters later goes without.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.cancel()
	k.done.Wait()
}

// Enter is called once by each agent, before its first model call. It returns when that call should be made: at once for the
// first of the siblings and for all while the prefix is warm, else when it is warm, or the one ahead has given up and it is
// this one's turn to go ahead, or after staggerLimit. The error is the cause of the context; the Use must be left otherwise.
func (k *Keeper) Enter(ctx context.Context, p Prefix) (*Use, error) {
	if k == nil || p.Digest == "" || !cacheable(p, model.Lookup(p.Model)) {
		return &Use{}, nil
	}
	u := &Use{keeper: k, tokens: p.Tokens}
	k.mu.Lock()
	u.group = k.join(p)
	k.mu.Unlock()
	if err := u.wait(ctx); err != nil {
		u.Leave()
		return nil, err
	}
	return u, nil
}

// join adds one to those who share a prefix, and makes a cache for them when that pays now.
func (k *Keeper) join(p Prefix) *group {
	id := key{p.Model, p.Digest}
	g := k.groups[id]
	if g == nil {
		g = &group{changed: make(chan struct{})}
		k.groups[id] = g
	}
	g.users++
	if k.opt.Cacher == nil || k.closed || g.making || g.barred || g.cache != nil {
		return g
	}
	if Pays(p.Tokens, g.users, model.Lookup(p.Model), k.opt.Clock()) {
		g.making = true
		k.start(func(ctx context.Context) { k.hold(ctx, g, p) })
	}
	return g
}

// wake lets those who wait look again.
func (g *group) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// cacheable reports whether a prefix is large enough to be cached at all.
func cacheable(p Prefix, info model.Info) bool { return info.MinCache > 0 && p.Tokens >= info.MinCache }
