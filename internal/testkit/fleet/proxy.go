package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy is between one worker and the server. It can be frozen, so that nothing passes, or closed to the worker.
type Proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup
	passed   atomic.Int64

	mu     sync.Mutex
	thaw   *sync.Cond
	frozen bool // what is sent waits
	closed bool // connections are cut, and new ones too
	ended  bool
	conns  map[net.Conn]bool
}

// NewProxy starts one on a free port.
func NewProxy(ctx context.Context, server string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, server: server, conns: map[net.Conn]bool{}}
	p.thaw = sync.NewCond(&p.mu)
	p.wg.Go(func() { p.accept(ctx) })
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Passed is how many bytes have passed, both ways.
func (p *Proxy) Passed() int64 { return p.passed.Load() }

func (p *Proxy) accept(ctx context.Context) {
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
func (p *Proxy) keep(c, s net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ended {
		_ = errors.Join(c.Close(), s.Close())
		return false
	}
	p.conns[c], p.conns[s] = true, true
	return true
}

func (p *Proxy) pass(from io.ReadCloser, to io.WriteCloser) {
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
			p.passed.Add(int64(n))
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Set freezes or closes the proxy, or opens it again.
func (p *Proxy) Set(frozen, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.closed = frozen, closed
	if closed {
		p.cut()
	}
	p.thaw.Broadcast()
}

// cut closes all connections.
func (p *Proxy) cut() {
	for c := range p.conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// End closes it and waits for its goroutines.
func (p *Proxy) End() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	p.cut()
	p.thaw.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}
