package client

import (
	"context"
	"encoding/json"
	"errors"

	"divisi/internal/spec"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
)

// ErrElsewhere is the error of Glance about a run whose log is on a NATS server.
var ErrElsewhere = errors.New("the log of the run is on a NATS server")

// Glance returns the report of a run of a state directory, as Summary has it, and writes nothing and uses no network but the
// loopback of the process that carries the run out. ErrElsewhere for a run whose log cannot be read so.
func Glance(ctx context.Context, stateDir, id string) (json.RawMessage, error) {
	dir := Place(stateDir).Dir(ctx)
	if r, kept := dir.Summary(id); kept {
		return spec.JSON(r)
	}
	meta, err := store.ReadMeta(dir.Run(id))
	if err != nil {
		return nil, err
	}
	if meta.NATS != "" {
		return nil, ErrElsewhere
	}
	b, _, err := dir.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer dir.Close(b)
	st, err := dir.Fold(ctx, b, id)
	if err != nil {
		return nil, err
	}
	return spec.JSON(view.Live(st, depot.Now()))
}
