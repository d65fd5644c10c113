package host

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/checkout"
)

// maxOffered bounds the commits that a host says it has: what it keeps beyond them may go before the run is submitted.
const maxOffered = git.MaxKept / 2

// has reports what the host has of a repository, for an order to come.
func (h *Host) has(ctx context.Context, in *call.In, q *call.Having) (a call.Has, err error) {
	caches, err := h.submits(q, h.by(in))
	if err != nil {
		return a, err
	}
	if a.Commits, err = h.have(ctx, q, depot.ModuleCaches(caches, q.Module)); err == nil {
		a.Contents, err = h.contents(q, caches)
		a.Environment = h.hasEnvironment(q, caches)
	}
	return a, err
}

// have lists commits that the host has in a collection, for a pack of another one.
func (h *Host) have(ctx context.Context, q *call.Having, collection string) ([]string, error) {
	if q.Past != "" {
		if !bus.ValidToken(q.Past) {
			return nil, usage.Errorf("%.80q is no cut of a history", q.Past)
		}
		return (&mirrors.Store{Dir: h.Dir.Mirrors()}).Tips(mirrors.PastName(collection, q.Past))
	}
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := (&mirrors.Store{Git: g, Dir: h.Dir.Mirrors()}).Kept(ctx, collection, q.Commit)
	return kept[:min(len(kept), maxOffered)], err
}

// contents lists those of Git LFS that the host has for a repository.
func (h *Host) contents(q *call.Having, caches string) (has []spec.Pointer, err error) {
	from := h.besides(caches)
	for _, p := range q.Contents {
		if !depot.IsContent(p.OID) {
			return nil, usage.Errorf("%.80q is no content of Git LFS", p.OID)
		}
		f, err := from.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, err
		}
		has = append(has, p)
	}
	return has, nil
}

// besides has what trees of a repository have beside the files that git stores; it is only read.
func (h *Host) besides(caches string) *checkout.Store {
	return checkout.NewStore(nil, filepath.Join(h.Dir.Caches(), caches), nil, depot.Now)
}
