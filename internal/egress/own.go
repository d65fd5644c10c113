package egress

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Own serves a command's requests to the proxy itself, at the address by which the command knows it.
type Own struct {
	Address string
	Handler http.Handler
}

// asksOwn reports whether the first request of a connection is to the proxy itself, and not through it.
func (p *Proxy) asksOwn(here *peeked) bool {
	if p.itself.Handler == nil {
		return false
	}
	for n := 1; ; n = here.read.Buffered() + 1 {
		_, err := here.read.Peek(n)
		line, _ := here.read.Peek(here.read.Buffered()) // of what is there none fails
		if end := bytes.IndexByte(line, '\n'); end >= 0 || err != nil {
			_, target, _ := strings.Cut(string(line[:max(end, 0)]), " ")
			return strings.HasPrefix(target, "/") || strings.HasPrefix(target, "http://"+p.itself.Address+"/")
		}
	}
}

// answerItself serves a connection with the proxy's own handler.
func (p *Proxy) answerItself(ctx context.Context, here *peeked, accepted func() error) error {
	if err := accepted(); err != nil {
		return err
	}
	one := &single{conn: here, over: make(chan struct{})}
	server := &http.Server{
		Handler: http.HandlerFunc(p.serveItself), ReadHeaderTimeout: requestTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				one.end()
			}
		},
	}
	err := server.Serve(one)
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, server.Close())
}

// serveItself answers one request. A program that takes the proxy for one sends requests to other hosts over the same
// connection: it is closed, so that they come over a new one.
func (p *Proxy) serveItself(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Host {
	case p.itself.Address:
		w.Header().Set("Connection", "close")
	case "":
	default:
		http.Error(w, "this connection is one to the proxy itself", http.StatusMisdirectedRequest)
		return
	}
	p.itself.Handler.ServeHTTP(w, r)
}

// single is a listener with one connection.
type single struct {
	conn  net.Conn
	taken bool
	once  sync.Once
	over  chan struct{}
}

// Accept implements net.Listener: after the connection it waits until that is over.
func (s *single) Accept() (net.Conn, error) {
	if !s.taken {
		s.taken = true
		return s.conn, nil
	}
	<-s.over
	return nil, net.ErrClosed
}

func (s *single) end() { s.once.Do(func() { close(s.over) }) }

// Close implements net.Listener. The connection is the server's.
func (s *single) Close() error { return nil }

// Addr implements net.Listener.
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }
