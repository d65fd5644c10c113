package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// PutFrom puts what a reader has up to its end. It holds two pieces of it at a time.
func (c Cache) PutFrom(ctx context.Context, name string, r io.Reader) error {
	if err := c.s.putFrom(ctx, name, r); err != nil {
		return fmt.Errorf("cache %.80q: %w", name, err)
	}
	return nil
}

func (s objectStore) putFrom(ctx context.Context, name string, r io.Reader) error {
	subject, err := objectSubject(objectsOf(s.prefix, s.run), name)
	if err != nil {
		return err
	}
	first := make([]byte, objectPiece)
	n, err := io.ReadFull(r, first)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return s.put(ctx, name, first[:n])
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	}
	return s.putPieces(ctx, subject, io.MultiReader(bytes.NewReader(first), r))
}

// CopyTo writes an object of at most limit bytes to w, piece by piece, and returns its size. It holds two pieces of it at a time.
// The errors are those of Get, and ErrTooLarge. After an error the last piece was not written.
func (c Cache) CopyTo(ctx context.Context, name string, w io.Writer, limit int64) (int64, error) {
	size, err := c.s.copyTo(ctx, name, w, limit)
	if err != nil {
		return size, fmt.Errorf("get %.80q from the cache: %w", name, err)
	}
	return size, nil
}

func (s objectStore) copyTo(ctx context.Context, name string, w io.Writer, limit int64) (int64, error) {
	data, list, err := s.find(ctx, name)
	if err != nil {
		return 0, err
	}
	size := int64(len(data))
	if list != nil {
		size = list.Size
	}
	if size > limit {
		return 0, fmt.Errorf("%w: the object has %d bytes, at most %d", ErrTooLarge, size, limit)
	}
	if list != nil {
		return size, s.copyPieces(ctx, list, w)
	}
	_, err = w.Write(data)
	return size, err
}
