package conduct

import (
	"context"
	"fmt"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/release"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// announce says every few seconds, and when it is asked, that the run takes workers, until stop, which waits.
func (h *Half) announce(ctx context.Context) (stop func(), err error) {
	return depot.Present(ctx, h.Bus, func() { h.conducting(ctx) })
}

// conducting says once that the run takes workers, or that it is over.
func (h *Half) conducting(ctx context.Context) {
	what := wire.NewConducting(h.Spec.Run, release.Version())
	what.Over = h.over.Load()
	h.Say(ctx, h.Bus, bus.RunPresence(h.Spec.Run), what)
}

// takeKey reads the keys of the run. That of its worker is made with the run; one that is lost or damaged is made again, and what
// the old one signed since the last fold proves nothing.
func (h *Half) takeKey() (err error) {
	if h.Signs, err = depot.OwnKey(filepath.Join(h.Path, depot.ConductorKey)); err != nil {
		return fmt.Errorf("take the key of the run: %w", err)
	}
	if h.Elsewhere {
		h.Spec.Keys = nil // workers elsewhere bring theirs
		return nil
	}
	key, err := depot.OwnKey(filepath.Join(h.Path, depot.KeyFile))
	if err != nil {
		return fmt.Errorf("take the key of the run's worker: %w", err)
	}
	h.Spec.Keys = map[string][]byte{wire.LocalName: depot.PublicOf(key)}
	return nil
}
