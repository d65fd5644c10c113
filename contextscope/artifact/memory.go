package artifact

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// Memory is a Store in the process's memory. Its zero value is empty and ready.
type Memory struct {
	mu       sync.RWMutex
	versions map[string][]Artifact
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Put implements Store.
func (m *Memory) Put(ctx context.Context, name, mediaType string, data []byte) (Handle, error) {
	if err := ctx.Err(); err != nil {
		return Handle{}, fmt.Errorf("put artifact %s: %w", name, err)
	}
	if err := CheckName(name); err != nil {
		return Handle{}, fmt.Errorf("put artifact: %w", err)
	}
	h := Handle{Name: name, Digest: Digest(data), Size: int64(len(data)), MediaType: mediaType}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.versions[name]
	if n := len(known); n > 0 && known[n-1].Handle.Digest == h.Digest && known[n-1].Handle.MediaType == mediaType {
		return known[n-1].Handle, nil
	}
	h.Version = len(known) + 1
	if m.versions == nil {
		m.versions = map[string][]Artifact{}
	}
	m.versions[name] = append(known, Artifact{Handle: h, Data: bytes.Clone(data)})
	return h, nil
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, handle Handle) (Artifact, error) {
	if err := ctx.Err(); err != nil {
		return Artifact{}, fmt.Errorf("get %s: %w", handle, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.versions[handle.Name]
	if handle.Version < 1 || handle.Version > len(known) {
		return Artifact{}, fmt.Errorf("get %s: %w", handle, ErrNotFound)
	}
	a := known[handle.Version-1]
	if !handle.Matches(a.Handle.Digest) {
		return Artifact{}, fmt.Errorf("get %s: the digest there is %s: %w", handle, a.Handle.Digest, ErrNotFound)
	}
	a.Data = bytes.Clone(a.Data)
	return a, nil
}
