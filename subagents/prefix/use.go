package prefix

import (
	"context"
	"time"
)

// Use is one agent's share in a prefix. Its methods are safe for concurrent use; those of a Use that no keeper minds, the
// nil Use among them, do nothing.
type Use struct {
	keeper *Keeper
	group  *group
	tokens int
	left   bool
}

// wait returns when the agent may make its first call.
func (u *Use) wait(ctx context.Context) error {
	limit := time.NewTimer(staggerLimit)
	defer limit.Stop()
	for {
		changed := u.admitted()
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// admitted returns nil when the agent may go, else what is closed when it should ask again.
func (u *Use) admitted() <-chan struct{} {
	u.keeper.mu.Lock()
	defer u.keeper.mu.Unlock()
	g := u.group
	switch {
	case g.cache != nil, u.keeper.opt.Clock().Before(g.warmUntil):
		return nil
	case g.first == nil:
		g.first = u
		return nil
	}
	return g.changed
}

// Warm says that the first byte of an answer has come: the service has read the prefix. It is called at the first event of
// every call.
func (u *Use) Warm() {
	if u == nil || u.keeper == nil {
		return
	}
	u.keeper.mu.Lock()
	defer u.keeper.mu.Unlock()
	u.group.first, u.group.warmUntil = nil, u.keeper.opt.Clock().Add(warmth)
	u.group.wake()
}

// Failed says that a call ended without a byte: the next of the siblings goes ahead.
func (u *Use) Failed() {
	if u == nil || u.keeper == nil {
		return
	}
	u.keeper.mu.Lock()
	defer u.keeper.mu.Unlock()
	u.stepAside()
}

// Leave says that the agent makes no more calls. It may be called more than once.
func (u *Use) Leave() {
	if u == nil || u.keeper == nil {
		return
	}
	u.keeper.mu.Lock()
	defer u.keeper.mu.Unlock()
	if u.left {
		return
	}
	u.left = true
	u.group.users--
	u.stepAside()
}

// stepAside lets the next one go ahead, where this one had.
func (u *Use) stepAside() {
	if u.group.first == u {
		u.group.first = nil
		u.group.wake()
	}
}

// Cache returns the name of the cache that the next call should name, or "" when there is none or the call is better off
// without. prompt is the estimated size of the whole request in tokens: see worthNaming.
func (u *Use) Cache(prompt int) string {
	if u == nil || u.keeper == nil || !worthNaming(u.tokens, prompt) {
		return ""
	}
	u.keeper.mu.Lock()
	defer u.keeper.mu.Unlock()
	c, now := u.group.cache, u.keeper.opt.Clock()
	if c == nil || now.Add(expiryMargin).After(c.expires) {
		return ""
	}
	c.used = now
	return c.name
}
