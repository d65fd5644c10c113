package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/subagents/wire"
)

// cachesOf names what a machine keeps of a repository for later runs: build caches, environments, commits, and what lies beside
// them. It is made of the person whose key has signed the run, nil for a process that needs no login, of the commits that the
// history begins with, or else the base, and of what the repository is called: a wrong word reaches nothing of another person.
func cachesOf(w *wire.Warrant, roots []string, base, name string) string {
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

// caches is the name of what a machine keeps of the repository. Who resumes the run changes nothing of it.
func (o *order) caches() string {
	return cachesOf(o.Warrant, o.Roots, o.Spec.Base, wire.RepositoryName(o.Spec.Repo))
}

// checkRoots refuses what no history begins with.
func checkRoots(roots []string) error {
	if len(roots) > maxRoots {
		return fmt.Errorf("its history begins with %d commits", len(roots))
	}
	for _, id := range roots {
		if !wire.IsCommit(id) {
			return fmt.Errorf("its history begins with %.80q, which is no commit", id)
		}
	}
	return nil
}

// maxRoots bounds the commits that a history begins with: the first of them tell histories apart.
const maxRoots = 16

// roots are the commits with which the history of the base begins. A history that cannot be read begins with the base.
func (h *conduct) roots(ctx context.Context) []string {
	roots, err := h.git.Roots(ctx, h.checkout, h.spec.Base)
	if err != nil {
		h.notice(fmt.Sprintf("note: other machines keep nothing of this repository for commits to come: %v", err))
		return nil
	}
	return roots[:min(len(roots), maxRoots)]
}

// submits names what this host keeps for a run that a member is going to submit, as its order will.
func (h *Host) submits(q *hostCall, by string) (caches string, err error) {
	w := q.Warrant
	switch m, known := h.member(by); {
	case by == bus.Local: // the server vouches for no names, or it is a process of this machine
	case !known || w == nil || w.Person != by || w.Key != m:
		return "", usage.Errorf("%s does not say with which key of its own it signs the run: use the Divisi of the server's "+
			"version", by)
	}
	if !wire.IsCommit(q.Commit) || !wire.IsCommit(q.Base) {
		return "", usage.Errorf("commits %.80q and %.80q name no repository", q.Commit, q.Base)
	}
	if err := checkRoots(q.Roots); err != nil {
		return "", usage.Errorf("the run to come: %v", err)
	}
	return cachesOf(w, q.Roots, q.Base, q.Name), nil
}

// member is the key of a member that the server vouches for.
func (h *Host) member(by string) (key string, known bool) {
	if h.o.members == nil {
		return "", false
	}
	m, known := h.o.members.Member(by)
	return m.Key, known
}

// ordered is the order that a run was submitted with.
func (h *Host) ordered(ctx context.Context, id, name string) (*order, error) {
	b, err := h.o.Server.open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.dir.Close(b)
	return unsealOrder(ctx, b, id, name)
}
