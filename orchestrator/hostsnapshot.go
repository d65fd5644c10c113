package orchestrator

import (
	"context"
	"path/filepath"

	"divisi/orchestrator/call"
	"divisi/subagents/environment"
)

// environments has those of a repository; they are only read.
func (h *Host) environments(caches string) *environment.Store {
	return environment.NewStore(environment.Below(filepath.Join(h.dir.Caches(), caches)), nil, now)
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
func (h *Host) lendsEnvironment(ctx context.Context, id, of, caches string) (p sealedPack, err error) {
	s := h.environments(caches)
	defer s.Close()
	e, err := s.Open(of)
	if err != nil {
		return p, err
	}
	return putEnvironment(ctx, h.bus.Cache(), h.dir.Run(id), e)
}
