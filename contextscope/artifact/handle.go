package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

// ErrHandle is wrapped by the errors of text that is no handle and of names that no artifact can have.
var ErrHandle = errors.New("not an artifact handle")

// prefix opens the text form of every handle.
const prefix = "artifact:"

// shortDigest is the number of hex digits of a digest in the text form of a handle.
const shortDigest = 8

// nameLength bounds the bytes of a name.
const nameLength = 200

// names are one or more segments of letters, digits, dots, dashes and underscores, separated by slashes; a segment does
// not begin with a dot.
var names = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// digests are at least the short form, in lower-case hex.
var digests = lazyregexp.New(`^[0-9a-f]{8,64}$`)

// Handle refers to one version of an artifact.
type Handle struct {
	// Name is the artifact's name: ASCII letters, digits and ._- in segments separated by slashes.
	Name string `json:"name"`
	// Version counts from 1 for each name.
	Version int `json:"version"`
	// Digest is the SHA-256 of the content in hex; a handle that was read from text has its first 8 digits only.
	Digest string `json:"digest"`
	// Size is the length of the content in bytes, and MediaType its type; a handle that was read from text has neither.
	Size      int64  `json:"size,omitempty"`
	MediaType string `json:"media_type,omitempty"`
}

// String is the text form: artifact:name@v#digest8.
func (h Handle) String() string {
	return prefix + h.Name + "@" + strconv.Itoa(h.Version) + "#" + h.Digest[:min(len(h.Digest), shortDigest)]
}

// ParseHandle reads the text form. Its errors wrap ErrHandle and report what is wrong.
func ParseHandle(text string) (Handle, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return Handle{}, fmt.Errorf("%w: %q does not begin with %s", ErrHandle, text, prefix)
	}
	name, rest, ok := strings.Cut(rest, "@")
	if !ok {
		return Handle{}, fmt.Errorf("%w: %q has no @version", ErrHandle, text)
	}
	if err := CheckName(name); err != nil {
		return Handle{}, err
	}
	number, digest, ok := strings.Cut(rest, "#")
	if !ok || !digests.MatchString(digest) {
		return Handle{}, fmt.Errorf("%w: %q has no #digest of %d or more hex digits", ErrHandle, text, shortDigest)
	}
	version, err := strconv.Atoi(number)
	if err != nil || version < 1 || strconv.Itoa(version) != number {
		return Handle{}, fmt.Errorf("%w: %q has the version %q, which must be a number from 1", ErrHandle, text, number)
	}
	return Handle{Name: name, Version: version, Digest: digest}, nil
}

// CheckName reports whether an artifact can have the name. Its errors wrap ErrHandle.
func CheckName(name string) error {
	if len(name) > nameLength || !names.MatchString(name) {
		return fmt.Errorf("%w: the name %q must be at most %d bytes of letters, digits and ._- in segments separated by /, "+
			"without a dot at their beginning", ErrHandle, name, nameLength)
	}
	return nil
}

// Matches reports whether the handle means content with the digest: a shortened digest stands for all that begin with it.
func (h Handle) Matches(digest string) bool {
	return len(h.Digest) >= shortDigest && strings.HasPrefix(digest, h.Digest)
}

// Digest is the digest of content as handles carry it: SHA-256 in hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
