package files

import (
	"slices"
	"sync"

	"divisi/internal/spec"
)

// Scope is an attempt's write set, which can grow while it works. It is safe for concurrent use.
type Scope struct {
	mu  sync.RWMutex
	set spec.WriteSet
}

// NewScope returns a scope that begins with the write set.
func NewScope(set spec.WriteSet) *Scope { return &Scope{set: set} }

// Refuse returns why a slash-separated path below the root may not be written now, or "".
func (s *Scope) Refuse(name string) string {
	set := s.Set()
	return set.Refuse(name)
}

// Set is the write set as it is now.
func (s *Scope) Set() spec.WriteSet {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set
}

// Grow adds paths and globs.
func (s *Scope) Grow(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Files = slices.Concat(s.set.Files, paths)
}
