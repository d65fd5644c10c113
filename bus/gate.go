package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus/member"
)

const (
	gatePatience = 5 * time.Second // for the handshake
	gateRest     = 50 * time.Millisecond
	maxGuests    = 1024
)

// gate is where members reach the embedded server: it has TLS, and lets through what member.Forward does. It goes on to listen
// while the server restarts.
type gate struct {
	listener net.Listener
	web      net.Listener // for WebSocket; nil for none
	tls      *tls.Config
	server   *embedded
	guard    *guard
	log      zerolog.Logger
	work     sync.WaitGroup
	ctx      context.Context //nolint:containedctx // that of the gate itself: its end cuts every connection
	end      context.CancelFunc
	room     chan struct{}
}

// openGate listens for members.
func openGate(o Options, e *embedded) (g *gate, err error) {
	g = &gate{
		tls: o.TLS, server: e, log: o.Log,
		guard: &guard{members: o.Members, workers: map[string]*worker{}, speaks: o.Speaks, met: o.Met},
		room:  make(chan struct{}, maxGuests),
	}
	if g.listener, err = net.Listen("tcp", listenAddress(o)); err != nil { //nolint:noctx // the gate closes it
		return nil, fmt.Errorf("%w: listen for members: %w", ErrUnavailable, err)
	}
	g.ctx, g.end = context.WithCancel(context.Background())
	if o.WebSocket != "" {
		if g.web, err = net.Listen("tcp", o.WebSocket); err != nil { //nolint:noctx // the gate closes it
			return nil, fmt.Errorf("%w: listen for members by WebSocket: %w", ErrUnavailable, errors.Join(err, g.close()))
		}
		g.work.Go(func() { g.accept(g.web, upgrade) })
	}
	g.work.Go(func() { g.accept(g.listener, func(conn net.Conn) (io.ReadWriter, error) { return conn, nil }) })
	return g, nil
}

// close ends every connection.
func (g *gate) close() error {
	g.end()
	err := g.listener.Close()
	if g.web != nil {
		err = errors.Join(err, g.web.Close())
	}
	g.work.Wait()
	if err != nil {
		return fmt.Errorf("close the address of members: %w", err)
	}
	return nil
}

// accept serves the connections of a listener. stream returns what a member and the server say to each other there.
func (g *gate) accept(l net.Listener, stream func(net.Conn) (io.ReadWriter, error)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if pause(g.ctx, nil, gateRest) != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			g.log.Warn().Err(err).Msg("a member could not connect")
			continue
		}
		select {
		case g.room <- struct{}{}:
			g.work.Go(func() {
				defer func() { <-g.room }()
				g.serve(conn, stream)
			})
		default:
			g.log.Warn().Int("connections", maxGuests).Msg("a member could not connect: too many have")
			_ = conn.Close()
		}
	}
}

// serve is one connection from its handshake to its end.
func (g *gate) serve(conn net.Conn, stream func(net.Conn) (io.ReadWriter, error)) {
	defer func() { _ = conn.Close() }()
	guest, err := g.greet(conn, stream)
	if err != nil {
		g.log.Debug().Err(err).Stringer("from", conn.RemoteAddr()).Msg("no member: the handshake failed")
		return
	}
	inside, err := g.server.InProcessConn()
	if err != nil {
		g.log.Debug().Err(err).Msg("the server is away; the member will try again")
		return
	}
	ctx, end := context.WithCancel(g.ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = conn.Close() // not that of TLS, which would wait for a client that reads nothing
		_ = inside.Close()
	})
	defer stop()
	var back sync.WaitGroup
	w := &watch{guard: g.guard, proven: make(chan struct{}), over: ctx.Done()}
	back.Go(func() {
		defer end()
		g.answer(guest, inside, w)
	})
	err = member.Forward(inside, guest, w)
	if errors.Is(err, member.ErrRefused) && ctx.Err() == nil {
		g.log.Warn().Err(err).Stringer("from", conn.RemoteAddr()).Msg("cut a member's connection")
	}
	if errors.Is(err, io.ErrClosedPipe) { // by the server: its last words say why
		defer time.AfterFunc(gatePatience, end).Stop()
	} else {
		end()
	}
	back.Wait()
}

// greet is the handshake of a connection, of TLS and then of its stream.
func (g *gate) greet(conn net.Conn, stream func(net.Conn) (io.ReadWriter, error)) (io.ReadWriter, error) {
	ctx, cancel := context.WithTimeout(g.ctx, gatePatience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	guest := tls.Server(conn, g.tls)
	if err := guest.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return stream(guest)
}

// answer copies what the server sends. How it ends is told by who reads.
func (g *gate) answer(guest io.Writer, inside io.Reader, w member.Told) {
	if err := member.Deliver(guest, inside, w); err != nil {
		g.log.Trace().Err(err).Msg("a member's connection ended")
	}
}
