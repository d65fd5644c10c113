package bus

import (
	"cmp"
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
	// loginPatience is from the connection to the login; joinPatience is how long who joins may stay.
	loginPatience = 2 * gatePatience
	joinPatience  = 2 * retryPatience
	// Before the login: those of one address, and of all.
	maxSilentEach, maxSilent = 64, 512
	// Behind it: those of one member, and of all.
	maxOpenEach, maxOpen = 256, 4096
)

// errCrowded is what a member is told that has too many connections.
var errCrowded = errors.New("too many connections are open with this login")

// gate is where members reach the embedded server: it has TLS, and lets through what member.Forward does. It continues to listen
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
	// silent are the connections before their login, by address; open those behind it, by key.
	silent, open crowd
	// crowded reports connections that had to go, refused of those that sent what no member may send or that were not accepted.
	crowded, refused tally
}

// openGate listens for members.
func openGate(o Options, e *embedded) (g *gate, err error) {
	g = &gate{
		tls: o.TLS, server: e, log: o.Log,
		guard: &guard{
			members: o.Members, workers: map[string]*worker{}, readers: map[string]readers{}, speaks: o.Speaks, met: o.Met,
		},
		silent: crowd{each: maxSilentEach, most: maxSilent, oldest: true}, open: crowd{each: maxOpenEach, most: maxOpen},
	}
	g.crowded.tell = g.tells("connections had to go: too many are open")
	g.refused.tell = g.tells("connections were cut or refused")
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

// tells logs what a tally counts.
func (g *gate) tells(what string) func(times int, last string) {
	return func(times int, last string) { g.log.Warn().Int("times", times).Str("last", last).Msg(what) }
}

// close ends every connection.
func (g *gate) close() error {
	g.end()
	defer g.refused.close()
	defer g.crowded.close()
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
			g.refused.add(err.Error())
			continue
		}
		login, leave := g.meet(conn)
		g.work.Go(func() {
			defer leave()
			g.serve(conn, stream, login)
		})
	}
}

// meet counts a connection in, and cuts it when its login, with a key or "" for a token, comes too late. leave counts it out.
func (g *gate) meet(conn net.Conn) (login func(key string) error, leave func()) {
	cut := func() { _ = conn.Close() } // not that of TLS, which would wait for a client that reads nothing
	from := addressOf(conn.RemoteAddr())
	at, in := &g.silent, &guest{party: from, cut: cut}
	enter := func() bool {
		gone := at.enter(in)
		if gone != nil && gone != in {
			gone.cut()
		}
		if gone != nil {
			g.crowded.add("of " + gone.party + ", as " + from + " connected")
		}
		return gone != in
	}
	enter()
	late := time.AfterFunc(loginPatience, cut)
	login = func(key string) error {
		if key != "" {
			late.Stop()
		} else {
			late.Reset(joinPatience)
		}
		at.leave(in)
		at, in = &g.open, &guest{party: cmp.Or(key, "those who join"), cut: cut}
		if !enter() {
			return errCrowded
		}
		return nil
	}
	return login, func() { late.Stop(); at.leave(in) }
}

// serve is one connection from its handshake to its end.
func (g *gate) serve(conn net.Conn, stream func(net.Conn) (io.ReadWriter, error), login func(key string) error) {
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
		_ = conn.Close()
		_ = inside.Close()
	})
	defer stop()
	var back sync.WaitGroup
	w := &watch{guard: g.guard, login: login, proven: make(chan struct{}), over: ctx.Done()}
	back.Go(func() {
		defer end()
		g.answer(guest, inside, w)
	})
	err = member.Forward(inside, guest, w)
	if errors.Is(err, member.ErrRefused) && ctx.Err() == nil {
		g.refused.add(conn.RemoteAddr().String() + ": " + err.Error())
	}
	if errors.Is(err, io.ErrClosedPipe) { // by the server: its last words report why
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
