// Package artifact keeps named, versioned blobs outside the prompt. Its input is a name with its content, its output a handle
// for prompts and, for a handle, the content. It never changes an artifact: new content under a known name is a new version.
package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// ErrNotFound is wrapped by the errors of Get for a name, a version or a digest that the store does not have.
var ErrNotFound = errors.New("artifact not found")

// ErrCorrupt is wrapped by the errors of Get for an artifact whose content is not what its handle was made for.
var ErrCorrupt = errors.New("artifact is damaged")

// Artifact is one version with its content.
type Artifact struct {
	// Handle is complete: full digest, size and media type.
	Handle Handle
	Data   []byte
}

// Objects is the part of a blob store that a store of artifacts uses. Both methods may be called by many goroutines at once.
type Objects interface {
	// Put binds a name to a copy of data for good. The same bytes again are no error. A name that holds other bytes keeps
	// them, and the error is the one that NewStore was given for that.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns what the name is bound to. The error for a name that is not bound is the one that NewStore was given.
	Get(ctx context.Context, name string) ([]byte, error)
}

// Store keeps artifacts as immutable objects, shared with any number of other processes. The content of a version is one
// object, named by its digest; the version is another, its complete handle, which is put after it. So a crash between the
// two leaves no version, and content that the next Put of the same uses. It is safe for concurrent use.
type Store struct {
	objects        Objects
	scope          string
	missing, taken error

	mu sync.Mutex
	// newest is the greatest version of each name that this process has seen.
	newest map[string]Handle
}

// NewStore returns the artifacts of a scope, such as a run. missing and taken are the errors of objects for a name that
// is not bound and for one that holds other bytes.
func NewStore(objects Objects, scope string, missing, taken error) *Store {
	return &Store{objects: objects, scope: scope, missing: missing, taken: taken, newest: map[string]Handle{}}
}

// Put keeps data under a name and returns its complete handle. Putting what the newest version of the name already is, in
// bytes and media type, returns that version again, so a repeated Put after a crash leaves one version. Anything else becomes
// the next version. A name that CheckName refuses is an error that wraps ErrHandle.
func (s *Store) Put(ctx context.Context, name, mediaType string, data []byte) (Handle, error) {
	if err := ctx.Err(); err != nil {
		return Handle{}, fmt.Errorf("put artifact %s: %w", name, err)
	}
	if err := CheckName(name); err != nil {
		return Handle{}, fmt.Errorf("put artifact: %w", err)
	}
	h, err := s.put(ctx, Handle{Name: name, Digest: Digest(data), Size: int64(len(data)), MediaType: mediaType}, data)
	if err != nil {
		return Handle{}, fmt.Errorf("put artifact %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Version > s.newest[name].Version {
		s.newest[name] = h
	}
	return h, nil
}

func (s *Store) put(ctx context.Context, h Handle, data []byte) (Handle, error) {
	s.mu.Lock()
	newest, seen := s.newest[h.Name]
	s.mu.Unlock()
	var err error
	if !seen || sameContent(newest, h) { // what was seen last need not be the newest any more
		if newest, err = s.latest(ctx, h.Name, newest); err != nil {
			return Handle{}, err
		}
	}
	for stored := false; !sameContent(newest, h); {
		if !stored {
			if err := s.objects.Put(ctx, s.content(h.Digest), data); err != nil {
				return Handle{}, fmt.Errorf("store the content: %w", err)
			}
			stored = true
		}
		h.Version = newest.Version + 1
		err := s.bind(ctx, h)
		if err == nil || !errors.Is(err, s.taken) {
			return h, err
		}
		// Another writer has that version; it may even be the same content.
		if newest, err = s.latest(ctx, h.Name, newest); err != nil {
			return Handle{}, err
		}
	}
	return newest, nil
}

func sameContent(a, b Handle) bool { return a.Digest == b.Digest && a.MediaType == b.MediaType }

func (s *Store) bind(ctx context.Context, h Handle) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode version %d: %w", h.Version, err)
	}
	if err := s.objects.Put(ctx, s.version(h.Name, h.Version), body); err != nil {
		return fmt.Errorf("store version %d: %w", h.Version, err)
	}
	return nil
}

// latest finds the greatest version of a name, from one that is known to be there (or none, which is version 0). Versions
// have no gaps, so that doubled steps and then halved ones find it.
func (s *Store) latest(ctx context.Context, name string, have Handle) (Handle, error) {
	step := 1
	for grows := true; step > 0; {
		next, err := s.lookup(ctx, name, have.Version+step)
		switch {
		case err == nil:
			have = next
			if grows {
				step *= 2
				continue
			}
		case !errors.Is(err, s.missing):
			return Handle{}, err
		}
		grows = false
		step /= 2
	}
	return have, nil
}

func (s *Store) lookup(ctx context.Context, name string, version int) (Handle, error) {
	body, err := s.objects.Get(ctx, s.version(name, version))
	if err != nil {
		return Handle{}, fmt.Errorf("look up version %d: %w", version, err)
	}
	var h Handle
	if err := json.Unmarshal(body, &h); err != nil || h.Name != name || h.Version != version {
		return Handle{}, fmt.Errorf("look up version %d: it is stored as %.200q: %w", version, body, ErrCorrupt)
	}
	return h, nil
}

// Get returns the artifact that a handle means. The data is the caller's own. Of the handle only name, version and digest
// count, and the digest may be shortened. What is not there, or has another digest, is an error that wraps ErrNotFound;
// content that is gone or changed behind a known version wraps ErrCorrupt and is never returned.
func (s *Store) Get(ctx context.Context, handle Handle) (Artifact, error) {
	if err := ctx.Err(); err != nil {
		return Artifact{}, fmt.Errorf("get %s: %w", handle, err)
	}
	if CheckName(handle.Name) != nil || handle.Version < 1 {
		return Artifact{}, fmt.Errorf("get %s: %w", handle, ErrNotFound)
	}
	h, err := s.lookup(ctx, handle.Name, handle.Version)
	switch {
	case errors.Is(err, s.missing):
		return Artifact{}, fmt.Errorf("get %s: %w", handle, ErrNotFound)
	case err != nil:
		return Artifact{}, fmt.Errorf("get %s: %w", handle, err)
	case !handle.Matches(h.Digest):
		return Artifact{}, fmt.Errorf("get %s: the digest there is %s: %w", handle, h.Digest, ErrNotFound)
	}
	data, err := s.objects.Get(ctx, s.content(h.Digest))
	switch {
	case errors.Is(err, s.missing):
		return Artifact{}, fmt.Errorf("get %s: its content is gone: %w", handle, ErrCorrupt)
	case err != nil:
		return Artifact{}, fmt.Errorf("get the content of %s: %w", handle, err)
	}
	if found := Digest(data); found != h.Digest {
		return Artifact{}, fmt.Errorf("get %s: want the digest %s, found %s: %w", handle, h.Digest, found, ErrCorrupt)
	}
	return Artifact{Handle: h, Data: data}, nil
}

// No artifact's name has an @ or a #, so that versions and contents cannot be taken for one another.

func (s *Store) version(name string, version int) string {
	return fmt.Sprintf("artifact/%s/%s@%d", s.scope, name, version)
}

func (s *Store) content(digest string) string {
	return fmt.Sprintf("artifact/%s/#%s", s.scope, digest)
}
