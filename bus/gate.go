package bus

import (
	"bufio"
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
	gatePatience = 5 * time.Second // for the handshake of TLS
	gateRest     = 50 * time.Millisecond
	maxGuests    = 1024
)

// gate is where members reach the embedded server: it has TLS, and lets through what member.Forward does. It goes on to listen
// while the server restarts.
type gate struct {
	listener net.Listener
	tls      *tls.Config
	server   *embedded
	log      zerolog.Logger
	work     sync.WaitGroup
	ctx      context.Context //nolint:containedctx // that of the gate itself: its end cuts every connection
	end      context.CancelFunc
	room     chan struct{}
}

// openGate listens for members.
func openGate(o Options, e *embedded) (*gate, error) {
	l, err := net.Listen("tcp", listenAddress(o)) //nolint:noctx // the gate closes it
	if err != nil {
		return nil, fmt.Errorf("%w: listen for members: %w", ErrUnavailable, err)
	}
	g := &gate{listener: l, tls: o.TLS, server: e, log: o.Log, room: make(chan struct{}, maxGuests)}
	g.ctx, g.end = context.WithCancel(context.Background())
	g.work.Go(g.accept)
	return g, nil
}

// close ends every connection.
func (g *gate) close() error {
	g.end()
	err := g.listener.Close()
	g.work.Wait()
	if err != nil {
		return fmt.Errorf("close the address of members: %w", err)
	}
	return nil
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
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
				g.serve(conn)
			})
		default:
			g.log.Warn().Int("connections", maxGuests).Msg("a member could not connect: too many have")
			_ = conn.Close()
		}
	}
}

// serve is one connection from its handshake to its end.
func (g *gate) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	guest := tls.Server(conn, g.tls)
	handshake, cancel := context.WithTimeout(g.ctx, gatePatience)
	defer cancel()
	if err := guest.HandshakeContext(handshake); err != nil {
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
	back.Go(func() {
		defer end()
		g.answer(guest, inside)
	})
	err = member.Forward(inside, guest)
	if errors.Is(err, member.ErrRefused) && ctx.Err() == nil {
		g.log.Warn().Err(err).Stringer("from", conn.RemoteAddr()).Msg("cut a member's connection")
	}
	if errors.Is(err, io.ErrClosedPipe) { // by the server: its last words say why
		_ = conn.SetWriteDeadline(time.Now().Add(gatePatience)) // a connection that is closed takes none
	} else {
		end()
	}
	back.Wait()
}

// answer copies what the server sends. How it ends is told by who reads.
func (g *gate) answer(guest io.Writer, inside io.Reader) {
	r := bufio.NewReader(inside)
	err := member.Greet(guest, r)
	if err == nil {
		_, err = io.Copy(guest, r)
	}
	if err != nil {
		g.log.Trace().Err(err).Msg("a member's connection ended")
	}
}
