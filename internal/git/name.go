package git

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBadName reports that an object id or a ref's name is not well formed.
	ErrBadName = errors.New("not a valid name")
	// ErrNotFound reports that a ref, an object or a file does not exist.
	ErrNotFound = errors.New("not found")
)

// ValidID reports whether s is a full object id in lower-case hexadecimal (SHA-1 or SHA-256).
func ValidID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// checkIDs keeps anything that is not an object id from git's command line.
func checkIDs(ids ...string) error {
	for _, id := range ids {
		if !ValidID(id) {
			return fmt.Errorf("object id %q: %w", id, ErrBadName)
		}
	}
	return nil
}

// ValidRef checks a full ref name such as refs/heads/divisi/r1 by git's own rules. The error is ErrBadName.
func ValidRef(ref string) error {
	if !strings.HasPrefix(ref, "refs/") || strings.Count(ref, "/") < 2 || len(ref) > 255 {
		return fmt.Errorf("ref %q: %w: it must look like refs/heads/name", ref, ErrBadName)
	}
	if strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.HasSuffix(ref, ".") {
		return fmt.Errorf("ref %q: %w: it holds .. or @{ or ends in a dot", ref, ErrBadName)
	}
	if i := strings.IndexFunc(ref, badRefRune); i >= 0 {
		return fmt.Errorf("ref %q: %w: character %q", ref, ErrBadName, ref[i])
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") || strings.HasSuffix(part, ".lock") {
			return fmt.Errorf("ref %q: %w: part %q", ref, ErrBadName, part)
		}
	}
	return nil
}

func badRefRune(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
}
