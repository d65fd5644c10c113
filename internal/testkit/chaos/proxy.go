package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy is between one worker and the server. It can be frozen, so that nothing passes, or closed to the worker.
type proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	thaw   *sync.Cond
	frozen bool // what is sent waits
	closed bool // connections are cut, and new ones too
	ended  bool
	conns  map[net.Conn]bool
}

func newProxy(ctx context.Context, server string) (*proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server, conns: map[net.Conn]bool{}}
	p.thaw = sync.NewCond(&p.mu)
	p.wg.Go(func() { p.accept(ctx) })
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept(ctx context.Context) {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		s, err := new(net.Dialer).DialContext(ctx, "tcp", p.server)
		if err != nil {
			_ = c.Close()
			continue
		}
		if !p.keep(c, s) {
			continue
		}
		p.wg.Go(func() { p.pass(c, s) })
		p.wg.Go(func() { p.pass(s, c) })
	}
}

// keep notes the two ends of a connection, or closes them.
func (p *proxy) keep(c, s net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ended {
		_ = errors.Join(c.Close(), s.Close())
		return false
	}
	p.conns[c], p.conns[s] = true, true
	return true
}

func (p *proxy) pass(from io.ReadCloser, to io.WriteCloser) {
	defer func() { _ = errors.Join(from.Close(), to.Close()) }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.frozen && !p.ended && !p.closed {
			p.thaw.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set freezes or closes the proxy, or opens it again.
func (p *proxy) set(frozen, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.closed = frozen, closed
	if closed {
		p.cut()
	}
	p.thaw.Broadcast()
}

// cut closes all connections.
func (p *proxy) cut() {
	for c := range p.conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	p.cut()
	p.thaw.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}
