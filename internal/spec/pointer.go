package spec

import (
	"strconv"

	"divisi/internal/lazyregexp"
)

// Pointer replaces a file's content in a repository with Git LFS.
type Pointer struct {
	// OID is the SHA-256 of the content in hex, Size its length.
	OID  string `json:"oid"`
	Size int64  `json:"size"`
}

// MaxPointer is more than a pointer's text can have, in bytes.
const MaxPointer = 1024

var pointerPattern = lazyregexp.New(
	`\Aversion https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v1\n` +
		`(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n\z`)

// ParsePointer reads a pointer; ok is false for any other content.
func ParsePointer(content []byte) (p Pointer, ok bool) {
	if len(content) > MaxPointer {
		return p, false
	}
	m := pointerPattern.FindSubmatch(content)
	if m == nil {
		return p, false
	}
	size, err := strconv.ParseInt(string(m[2]), 10, 64)
	return Pointer{OID: string(m[1]), Size: size}, err == nil
}
