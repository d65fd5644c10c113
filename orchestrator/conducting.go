package orchestrator

import (
	"context"
	"fmt"
	"path/filepath"

	"divisi/bus"
	"divisi/internal/release"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// announce says every few seconds, and when it is asked, that the run takes workers, until stop, which waits.
func (h *conduct) announce(ctx context.Context) (stop func(), err error) {
	return present(ctx, h.bus, func() { h.conducting(ctx) })
}

// conducting says once that the run takes workers, or that it is over.
func (h *conduct) conducting(ctx context.Context) {
	what := wire.NewConducting(h.spec.Run, release.Version())
	what.Over = h.over.Load()
	h.say(ctx, h.bus, bus.RunPresence(h.spec.Run), what)
}

// takeKey reads the keys of the run. That of its worker is made with the run; one that is lost or damaged is made again, and what
// the old one signed since the last fold proves nothing.
func (h *conduct) takeKey() (err error) {
	if h.signs, err = ownKey(filepath.Join(h.path, conductorKey)); err != nil {
		return fmt.Errorf("take the key of the run: %w", err)
	}
	if h.Elsewhere {
		h.spec.Keys = nil // workers elsewhere bring theirs
		return nil
	}
	key, err := ownKey(filepath.Join(h.path, keyFile))
	if err != nil {
		return fmt.Errorf("take the key of the run's worker: %w", err)
	}
	h.spec.Keys = map[string][]byte{worker.LocalName: publicOf(key)}
	return nil
}
