package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

const (
	defaultAddr   = "127.0.0.1:0"
	defaultMemory = 32 << 20
	keepAlive     = 15 * time.Second
	writeLimit    = 15 * time.Second
	stopLimit     = 3 * time.Second
	retryAfter    = time.Second
	viewPause     = 200 * time.Millisecond
)

// Options name what a Server shows and where.
type Options struct {
	// Addr is a loopback host and port, or a port of 127.0.0.1; empty means a free one.
	Addr string
	// Run is the id of the run, and Log its event log; both are needed.
	Run string
	Log Log
	// Memory bounds the encoded events that are kept for replay, in bytes; 0 means 32 MiB. Older ones are read from the
	// log again.
	Memory int
	Logger zerolog.Logger
}

// Server is the dashboard of one run. One tailer reads the log for all browsers.
type Server struct {
	opts  Options
	hub   *hub
	board *board
	// viewPause is the shortest time between two views that a browser gets.
	viewPause time.Duration
	// writeLimit is how long one write to a browser may take before it is dropped.
	writeLimit time.Duration
	listen     func(ctx context.Context, addr string) (net.Listener, error)
	// testDropped gets the position at which a slow browser was dropped; nil outside tests.
	testDropped func(pos uint64)

	mu      sync.Mutex
	url     string
	token   string
	cookie  string
	hosts   map[string]bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New checks the options and returns a server that does not listen yet. An address that is not a loopback address is an
// error: the page is not encrypted.
func New(o Options) (*Server, error) {
	if o.Run == "" || o.Log == nil {
		return nil, errors.New("dashboard: a run's id and its log are needed")
	}
	if o.Addr == "" {
		o.Addr = defaultAddr
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if port := strings.TrimPrefix(o.Addr, ":"); !strings.Contains(port, ":") {
		o.Addr = net.JoinHostPort("127.0.0.1", port)
	}
	if err := checkLoopback(o.Addr); err != nil {
		return nil, err
	}
	return &Server{
		opts: o, hub: newHub(o.Memory), board: newBoard(), token: rand.Text(), viewPause: viewPause, writeLimit: writeLimit,
		listen: listenTCP,
	}, nil
}

func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if _, number := strconv.ParseUint(port, 10, 16); err != nil || number != nil {
		return fmt.Errorf("dashboard: %q is neither a port nor an address such as 127.0.0.1:8080", addr)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("dashboard: refusing to listen on %q: the page is not encrypted, so it is served on this machine only; "+
		"use 127.0.0.1:PORT, and an ssh tunnel (ssh -L) to look from elsewhere", addr)
}

func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}

// Start binds the address and returns; the server runs until ctx ends or Stop. A server starts once.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return errors.New("dashboard: started twice")
	}
	l, err := s.bind(ctx)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	srv := &http.Server{
		Handler:           s.guard(s.routes()),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return run },
		ErrorLog:          log.New(s.opts.Logger, "", 0),
	}
	s.running.Go(func() { s.serve(srv, l) })
	s.running.Go(func() { s.tail(run) })
	s.running.Go(func() { s.shutdown(run, srv) })
	return nil
}

// bind listens, and keeps the names under which a browser reaches the page there.
func (s *Server) bind(ctx context.Context) (net.Listener, error) {
	l, err := s.listen(ctx, s.opts.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("dashboard: %s is in use by another program; choose another port, or port 0 for a free one: %w",
			s.opts.Addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("dashboard: listen on %s: %w", s.opts.Addr, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		s.hosts = allowedHosts(at.IP.String(), at.Port)
		s.url = "http://" + at.String() + "/?token=" + s.token
		s.cookie = "divisi-" + strconv.Itoa(at.Port) // browsers keep one cookie of a name for all ports
		return l, nil
	}
	err = fmt.Errorf("dashboard: %s leads to %s, which is not a loopback address", s.opts.Addr, l.Addr())
	return nil, errors.Join(err, l.Close())
}

func (s *Server) serve(srv *http.Server, l net.Listener) {
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		s.opts.Logger.Error().Err(err).Msg("the dashboard stopped serving")
	}
}

// shutdown waits for the end of run; the streams end with it.
func (s *Server) shutdown(run context.Context, srv *http.Server) {
	<-run.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run), stopLimit)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		s.opts.Logger.Warn().Err(errors.Join(err, srv.Close())).Msg("the dashboard closed connections that were still open")
	}
}

// tail feeds the board and the hub until ctx ends. A log that fails or ends is read again after a moment, from where it was.
func (s *Server) tail(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.tailOnce(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("run", s.opts.Run).Msg("the dashboard reads the log again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

func (s *Server) tailOnce(ctx context.Context) error {
	for b, err := range s.opts.Log.Tail(ctx, s.hub.last()) {
		if err != nil {
			return fmt.Errorf("read the log of run %s after %d: %w", s.opts.Run, s.hub.last(), err)
		}
		if b.Pos <= s.hub.last() {
			continue
		}
		for _, err := range s.board.fold(b) {
			s.opts.Logger.Debug().Err(err).Msg("the dashboard's view leaves out an event")
		}
		s.hub.add(encode(b))
	}
	return nil
}

// Stop ends all streams and waits until no goroutine of the server runs. It may be called twice, and on a server that did not
// start.
func (s *Server) Stop() {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	s.running.Wait()
}

// URL returns the page's address with its token once the server has started, and nothing before.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}
