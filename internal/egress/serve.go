package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// requestTime bounds how long a command may take to ask for a connection, and maxHead how many bytes.
	requestTime = time.Minute
	maxHead     = 64 << 10
	// maxConns bounds the connections of one command.
	maxConns = 512
)

// Serve serves the connections of a command until ctx ends. Then it closes the listener and all connections.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	for l := netutil.LimitListener(l, maxConns); ; {
		conn, err := l.Accept()
		if err != nil && ctx.Err() == nil {
			return errors.Join(fmt.Errorf("accept a connection of the command: %w", err), l.Close())
		}
		if err != nil {
			return nil
		}
		running.Go(func() { p.serve(ctx, conn) })
	}
}

// serve serves one connection of a command: SOCKS5 where that is its first byte, else HTTP.
func (p *Proxy) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close() // a second time after a tunnel
	head := &io.LimitedReader{R: conn, N: maxHead}
	here := &peeked{conn, bufio.NewReader(head)}
	if conn.SetDeadline(time.Now().Add(requestTime)) != nil {
		return // it is closed
	}
	open := p.web
	if first, err := here.read.Peek(1); err != nil {
		return // the command asked for nothing
	} else if first[0] == socksVersion {
		open = p.socks
	} else if p.asksOwn(here) {
		open = p.answerItself
	}
	// What fails was answered to the command; what was refused is kept.
	_ = open(ctx, here, func() error {
		head.N = 1 << 62
		return conn.SetDeadline(time.Time{})
	})
}

// tunnel copies in both directions until both have ended or one has failed. An idle tunnel stays: it counts among maxConns and
// ends with the command.
func tunnel(ctx context.Context, here, there net.Conn) {
	end := func() { _, _ = here.Close(), there.Close() } // both directions were copied, or one has failed
	defer end()
	stop := context.AfterFunc(ctx, end)
	defer stop()
	pass := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil || closeWrite(to) != nil {
			end()
		}
	}
	var other sync.WaitGroup
	other.Go(func() { pass(there, here) })
	pass(here, there)
	other.Wait()
}

// closeWrite ends one direction of a connection.
func closeWrite(c net.Conn) error {
	if p, ok := c.(*peeked); ok {
		c = p.Conn
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil // the other direction has to end by itself
}

// peeked is a connection whose first bytes are in a buffer.
type peeked struct {
	net.Conn
	read *bufio.Reader
}

// Read reads the buffer first.
func (p *peeked) Read(b []byte) (int, error) { return p.read.Read(b) }
