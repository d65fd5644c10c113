package depot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// CachesOf names what a machine keeps of a repository for later runs: build caches, environments, commits, and what lies beside
// them. It is made of the person whose key has signed the run, nil for a process that needs no login, of the commits that the
// history begins with, or else the base, and of what the repository is called: a wrong word reaches nothing of another person.
func CachesOf(w *wire.Warrant, roots []string, base, name string) string {
	var person, key string
	if w != nil {
		person, key = w.Person, w.Key
	}
	if len(roots) == 0 {
		roots = []string{base}
	}
	digest := sha256.Sum256([]byte(spec.JSONText([]any{person, key, roots, name})))
	return hex.EncodeToString(digest[:16])
}

// Caches is the name of what a machine keeps of the repository. Who resumes the run changes nothing of it.
func (o *Order) Caches() string {
	return CachesOf(o.Warrant, o.Roots, o.Spec.Base, wire.RepositoryName(o.Spec.Repo))
}

// CheckRoots refuses what no history begins with.
func CheckRoots(roots []string) error {
	if len(roots) > MaxRoots {
		return fmt.Errorf("its history begins with %d commits", len(roots))
	}
	for _, id := range roots {
		if !wire.IsCommit(id) {
			return fmt.Errorf("its history begins with %.80q, which is no commit", id)
		}
	}
	return nil
}

// MaxRoots bounds the commits that a history begins with: the first of them tell histories apart.
const MaxRoots = 16
