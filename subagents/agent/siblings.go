package agent

import (
	"context"
	"sync"
	"time"

	"divisi/internal/model"
)

const (
	// staggerLimit is the longest wait for a sibling's first byte. A model may think for minutes before it: then the full price
	// for some is better than idle agents.
	staggerLimit = 5 * time.Second
	// warmFor is how long a prefix counts as cached by the service after its last use. Google promises no time ("a short
	// amount"); users have seen prefixes live for minutes and gone after fifteen; other services promise five. A wrong guess
	// costs one more full prompt for each of the siblings that then start together.
	warmFor = 5 * time.Minute
)

// Siblings lets agents whose requests begin alike share that beginning. A service caches a prefix once it has begun to answer
// it, so siblings that ask at the same moment all pay for it in full: the first, the leader, goes ahead, and the others wait
// for the first byte of its answer. A worker has one. It is safe for concurrent use; a nil *Siblings lets all go at once.
type Siblings struct {
	mu     sync.Mutex
	groups map[prefixKey]*siblingGroup
}

type prefixKey struct{ model, digest string }

// siblingGroup is the agents that share one prefix.
type siblingGroup struct {
	mu *sync.Mutex // of its siblings
	// leader has gone ahead and has no answer yet: the others wait until changed is closed.
	leader    *sibling
	warmUntil time.Time
	changed   chan struct{}
}

// sibling is one agent in its group. The methods of one without a group, and of nil, do nothing.
type sibling struct{ group *siblingGroup }

// NewSiblings returns the siblings of a worker that has called no model yet.
func NewSiblings() *Siblings { return &Siblings{groups: map[prefixKey]*siblingGroup{}} }

// enter is called by each agent before its first model call. It returns when the agent should make that call: at once for the
// leader, for all while the prefix is warm, and where the prefix has no digest or is too small for the service's cache; else
// when the prefix is warm, when the agent becomes the leader, or after staggerLimit. The error is the cause of the context.
func (s *Siblings) enter(ctx context.Context, name, digest string, tokens int) (*sibling, error) {
	least := model.Lookup(name).MinCache
	if s == nil || digest == "" || least == 0 || tokens < least {
		return &sibling{}, nil
	}
	u := &sibling{s.group(prefixKey{name, digest})}
	if err := u.wait(ctx); err != nil {
		u.stepAside()
		return nil, err
	}
	return u, nil
}

func (s *Siblings) group(key prefixKey) *siblingGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[key]
	if g == nil {
		g = &siblingGroup{mu: &s.mu, changed: make(chan struct{})}
		s.groups[key] = g
	}
	return g
}

// wait returns when the agent may make its first call.
func (u *sibling) wait(ctx context.Context) error {
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

// admitted returns nil when the agent may make its call, else the channel that closes when it should ask again.
func (u *sibling) admitted() <-chan struct{} {
	g := u.group
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case time.Now().Before(g.warmUntil):
		return nil
	case g.leader == nil:
		g.leader = u
		return nil
	}
	return g.changed
}

// warm records the first byte of an answer: the service has read the prefix.
func (u *sibling) warm() {
	if u == nil || u.group == nil {
		return
	}
	u.group.mu.Lock()
	defer u.group.mu.Unlock()
	u.group.warmUntil = time.Now().Add(warmFor)
	u.group.release()
}

// stepAside lets the next sibling lead, where this one did: its call failed, or it makes no more.
func (u *sibling) stepAside() {
	if u == nil || u.group == nil {
		return
	}
	u.group.mu.Lock()
	defer u.group.mu.Unlock()
	if u.group.leader == u {
		u.group.release()
	}
}

// release ends the leader's turn and wakes the others.
func (g *siblingGroup) release() {
	g.leader = nil
	close(g.changed)
	g.changed = make(chan struct{})
}
