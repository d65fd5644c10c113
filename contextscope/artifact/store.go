package artifact

import (
	"context"
	"errors"
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

// Store keeps artifacts. Both methods may be called by many goroutines at once, and end early with the context's error
// when it is done.
type Store interface {
	// Put keeps data under a name and returns its complete handle. It keeps a copy: the caller may go on using data.
	// Putting what the newest version of the name already is, in bytes and media type, returns that version again, so a
	// repeated Put after a crash leaves one version. Anything else becomes the next version. A name that CheckName
	// refuses is an error that wraps ErrHandle.
	Put(ctx context.Context, name, mediaType string, data []byte) (Handle, error)

	// Get returns the artifact that a handle means. The data is the caller's own. Of the handle only name, version and
	// digest count, and the digest may be shortened. What is not there, or has another digest, is an error that wraps
	// ErrNotFound; content that is gone or changed behind a known version wraps ErrCorrupt and is never returned.
	Get(ctx context.Context, handle Handle) (Artifact, error)
}
