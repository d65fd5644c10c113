package act

import (
	"context"
	"time"

	"divisi/orchestrator/run"
)

// Quarantine puts a worker into quarantine: what it alone has proven counts no more.
type Quarantine struct {
	Worker string    `json:"worker" jsonschema:"The name of the worker."`
	Since  time.Time `json:"since,omitzero" jsonschema:"Since when it may lie; left out, for the whole run."`
}

// Act implements Args.
func (Quarantine) Act() string { return "quarantine" }

var _ = defineWith(Entry{
	Called: "server workers quarantine",
	Help:   "Stop a worker that may lie, and prove again the changes that it alone has proven.",
	Who:    Local | Owner, On: Running | AtRest | Ended, Doors: Command,
}, func(ctx context.Context, h Hands, _ *run.State, a Quarantine, by string) ([]run.Action, string, error) {
	outcome, err := h.Isolate(ctx, run.Quarantine{Worker: a.Worker, Since: a.Since, By: by})
	return nil, outcome, err
})
