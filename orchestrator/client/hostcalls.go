package client

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
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
)

// ServeSubject is where the host on a server is asked by members who may act. The subject names who asks.
func ServeSubject(who string) string { return "host.act." + who }

// ReadSubject is where members ask it who only read.
func ReadSubject(who string) string { return "host.read." + who }

// ViewSubject is where viewers ask it who are not shown what commands printed.
func ViewSubject(who string) string { return "host.view." + who }

// SubjectOf is where a call goes, by who may make it.
func SubjectOf(may call.Who, who string) string {
	switch may {
	case call.LogViewer:
		return ViewSubject(who)
	case call.Viewer, call.Reader:
		return ReadSubject(who)
	}
	return ServeSubject(who)
}

// Host reaches the host on a server from another process. Its bus is that of no run.
type Host struct {
	Bus *bus.Bus
	// viewed is set once the server has told that this member is a viewer who is not shown what commands printed.
	viewed atomic.Bool
}

// Reach connects to the server of a host.
func Reach(ctx context.Context, s depot.Server) (*Host, error) {
	b, err := s.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	return &Host{Bus: b}, nil
}

// Close closes the connection.
func (m *Host) Close(ctx context.Context) { store.Dir{Log: *zerolog.Ctx(ctx)}.Close(m.Bus) }

// Line is the way to the host. Where none listens the error is bus.ErrNoListener too.
func (m *Host) Line() call.Line {
	return call.Line{Request: m.request, Objects: m.Bus.Cache(), Timeout: call.Timeout, Wrap: func(err error) error {
		var e *call.Error
		switch {
		case errors.Is(err, bus.ErrNoListener):
			return usage.With(fmt.Errorf("no host conducts runs on %s: %w", m.Bus.URL(), err), usage.Server)
		case !errors.As(err, &e):
			return fmt.Errorf("ask the host on %s: %w", m.Bus.URL(), err)
		case e.Class == call.Refused:
			return e
		}
		return fmt.Errorf("the host on %s: %w", m.Bus.URL(), e)
	}}
}

// AskHost asks the host about a run, or none.
func AskHost[Q, A any](ctx context.Context, m *Host, k call.Kind[Q, A], run string, q Q) (A, error) {
	return call.Ask(ctx, m.Line(), k, call.Head{Run: run}, q)
}

// AskOn asks the host on a server once.
func AskOn[Q, A any](ctx context.Context, at depot.Server, k call.Kind[Q, A], run string, q Q) (a A, err error) {
	m, err := Reach(ctx, at)
	if err != nil {
		return a, err
	}
	defer m.Close(ctx)
	return AskHost(ctx, m, k, run, q)
}

// request sends a call to where this member may ask.
func (m *Host) request(ctx context.Context, may call.Who, data []byte) (answer []byte, err error) {
	views := may == call.Viewer || may == call.LogViewer
	if !views || !m.viewed.Load() {
		answer, err = m.Bus.Request(ctx, SubjectOf(may, m.Bus.Me()), data)
	}
	switch {
	case views && (m.viewed.Load() || errors.Is(err, bus.ErrDenied)):
		denied := err
		if answer, err = m.Bus.Request(ctx, ViewSubject(m.Bus.Me()), data); errors.Is(err, bus.ErrDenied) && denied != nil {
			return nil, denied
		}
		m.viewed.Store(true)
	case may == call.Reader && errors.Is(err, bus.ErrDenied):
		err = fmt.Errorf("%w\nA viewer needs the grant of raw output for it", err)
	}
	return answer, err
}

// TryTime bounds one try of a call that may be repeated.
const TryTime = 30 * time.Second
