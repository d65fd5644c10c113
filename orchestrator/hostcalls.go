package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/store"
)

// serveSubject is where the host on a server is asked, readSubject where those ask that only read, viewSubject where viewers do who
// are not shown what commands printed. Who asks is what the subject says.
func serveSubject(who string) string { return "host.act." + who }
func readSubject(who string) string  { return "host.read." + who }
func viewSubject(who string) string  { return "host.view." + who }

// subjectOf is where a call goes, by who may make it.
func subjectOf(may call.Who, who string) string {
	switch may {
	case call.LogViewer:
		return viewSubject(who)
	case call.Viewer, call.Reader:
		return readSubject(who)
	}
	return serveSubject(who)
}

// client reaches the host on a server from another process. Its bus is that of no run.
type client struct {
	bus *bus.Bus
	// viewed is set once the server has told that this member is a viewer who is not shown what commands printed.
	viewed atomic.Bool
}

// reach connects to the server of a host.
func reach(ctx context.Context, s Server) (*client, error) {
	b, err := s.open(ctx, "")
	if err != nil {
		return nil, err
	}
	return &client{bus: b}, nil
}

// close closes the connection.
func (m *client) close(ctx context.Context) { store.Dir{Log: *zerolog.Ctx(ctx)}.Close(m.bus) }

// line is the way to the host. Where none listens the error is bus.ErrNoListener too.
func (m *client) line() call.Line {
	return call.Line{Request: m.request, Objects: m.bus.Cache(), Timeout: call.Timeout, Wrap: func(err error) error {
		var e *call.Error
		switch {
		case errors.Is(err, bus.ErrNoListener):
			return usage.With(fmt.Errorf("no host conducts runs on %s: %w", m.bus.URL(), err), usage.Server)
		case !errors.As(err, &e):
			return fmt.Errorf("ask the host on %s: %w", m.bus.URL(), err)
		case e.Class == call.Refused:
			return e
		}
		return fmt.Errorf("the host on %s: %w", m.bus.URL(), e)
	}}
}

// askHost asks the host about a run, or none.
func askHost[Q, A any](ctx context.Context, m *client, k call.Kind[Q, A], run string, q Q) (A, error) {
	return call.Ask(ctx, m.line(), k, call.Head{Run: run}, q)
}

// askOn asks the host on a server once.
func askOn[Q, A any](ctx context.Context, at Server, k call.Kind[Q, A], run string, q Q) (a A, err error) {
	m, err := reach(ctx, at)
	if err != nil {
		return a, err
	}
	defer m.close(ctx)
	return askHost(ctx, m, k, run, q)
}

// request sends a call to where this member may ask.
func (m *client) request(ctx context.Context, may call.Who, data []byte) (answer []byte, err error) {
	views := may == call.Viewer || may == call.LogViewer
	if !views || !m.viewed.Load() {
		answer, err = m.bus.Request(ctx, subjectOf(may, m.bus.Me()), data)
	}
	switch {
	case views && (m.viewed.Load() || errors.Is(err, bus.ErrDenied)):
		denied := err
		if answer, err = m.bus.Request(ctx, viewSubject(m.bus.Me()), data); errors.Is(err, bus.ErrDenied) && denied != nil {
			return nil, denied
		}
		m.viewed.Store(true)
	case may == call.Reader && errors.Is(err, bus.ErrDenied):
		err = fmt.Errorf("%w\nA viewer may ask it who was granted what commands printed", err)
	}
	return answer, err
}

// tryTime bounds one try of a call that may be repeated.
const tryTime = 30 * time.Second
