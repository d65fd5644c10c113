package bus

import (
	"context"
	"fmt"
	"time"
)

// cacheAge is how long the server keeps what can be made again.
const cacheAge = 24 * time.Hour

// Cache holds objects that can be made again: the server removes each a day after it was put, whether its run has ended or not.
// What events refer to is never here. Who finds an object missing has it made again, and put.
type Cache struct{ s objectStore }

// Cache is the bus's own.
func (b *Bus) Cache() Cache { return Cache{objectStore{b, b.cache, prefixCache}} }

// Put is that of Bus. What is left of an object that the server has removed in part is completed.
func (c Cache) Put(ctx context.Context, name string, data []byte) error {
	if err := c.s.put(ctx, name, data); err != nil {
		return fmt.Errorf("cache %.80q: %w", name, err)
	}
	return nil
}

// Get is that of Bus. ErrNotFound and ErrUnavailable also mean that the object was removed, as a whole or in part.
func (c Cache) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := c.s.get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get %.80q from the cache: %w", name, err)
	}
	return data, nil
}
