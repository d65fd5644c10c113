package orchestrator

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
)

// Server is where machines meet to carry out runs: the URL of a NATS server, and the path of the file that logs in there; "" for
// none.
type Server struct{ URL, Login string }

// String is the address without credentials, so that it can be shown.
func (s Server) String() string { return bus.Shown(s.URL) }

// open connects to the server for a run; "" for none.
func (s Server) open(ctx context.Context, id string) (*bus.Bus, error) {
	if s.URL == "" {
		return nil, usage.Errorf("name the URL of a server")
	}
	o, err := store.Server(s).Options()
	if err != nil {
		return nil, err
	}
	o.Run, o.Log = id, *zerolog.Ctx(ctx)
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, usage.With(fmt.Errorf("use the server: %w", err), usage.Server)
	}
	return b, nil
}
