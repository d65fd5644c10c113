package host

import (
	"context"
	"path/filepath"

	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/environment"
)

// environments has those of a repository; they are only read.
func (h *Host) environments(caches string) *environment.Store {
	return environment.NewStore(environment.Below(filepath.Join(h.Dir.Caches(), caches)), nil, depot.Now)
}

// hasEnvironment reports whether the host has the environment of an order to come.
func (h *Host) hasEnvironment(q *call.Having, caches string) bool {
	if q.Environment == nil {
		return false
	}
	s := h.environments(caches)
	defer s.Close()
	e, err := s.Open(q.Environment.ID)
	return err == nil && e.Content == q.Environment.Content
}

// lendsEnvironment is base of the environment that came with a run.
func (h *Host) lendsEnvironment(ctx context.Context, id, of, caches string) (p depot.SealedPack, err error) {
	s := h.environments(caches)
	defer s.Close()
	e, err := s.Open(of)
	if err != nil {
		return p, err
	}
	return depot.PutEnvironment(ctx, h.bus.Cache(), h.Dir.Run(id), e)
}
