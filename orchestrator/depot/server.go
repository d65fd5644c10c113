package depot

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/store"
)

// Server is where machines meet to execute runs: the URL of a NATS server, and the path of the file that logs in there; "" for
// none. Name is the member that the credentials of a NATS account are for; "" for who may do everything there, and where the
// login tells.
type Server struct{ URL, Login, Name string }

// IsCredentials reports whether the name of a file is that of NATS credentials: it ends in .creds, or in .nk for the seed of an
// nkey.
func IsCredentials(path string) bool { return bus.IsCredentials(path) }

// String is the address without credentials, so that it can be shown.
func (s Server) String() string { return bus.Shown(s.URL) }

// Open connects to the server for a run; "" for none.
func (s Server) Open(ctx context.Context, id string) (*bus.Bus, error) {
	if s.URL == "" {
		return nil, usage.Errorf("name the URL of a server")
	}
	o, err := store.Server(s).Options()
	if err != nil {
		return nil, err
	}
	o.Run, o.Log = id, *zerolog.Ctx(ctx)
	b, err := bus.Open(ctx, o)
	if errors.Is(err, bus.ErrIncompatible) { // the address is right
		return nil, fmt.Errorf("use the server: %w", err)
	}
	if err != nil {
		return nil, usage.With(fmt.Errorf("use the server: %w", err), usage.Server)
	}
	return b, nil
}

// Person reports whether a person logs in to it, by a login of their own.
func (s Server) Person() (bool, error) {
	o, err := store.Server(s).Options()
	return err == nil && o.Login != nil && o.Login.Role == member.Person, err
}
