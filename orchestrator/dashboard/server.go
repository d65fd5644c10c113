package dashboard

import (
	"context"
	"crypto/tls"
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
	allMemory     = 4 // times the memory of one run is that of all which browsers show
	keepAlive     = 15 * time.Second
	writeLimit    = 15 * time.Second
	stopLimit     = 3 * time.Second
	retryAfter    = time.Second
	viewPause     = 200 * time.Millisecond
	linesPause    = 50 * time.Millisecond
	surveyPause   = time.Second
)

// Options name what a Server shows and where.
type Options struct {
	// Addr is a loopback host and port, or a port of 127.0.0.1; empty means a free one. With TLS it is any host and port, and
	// Hosts are the names under which browsers reach it.
	Addr  string
	TLS   *tls.Config
	Hosts []string
	// Runs are the runs that it shows, and Controller answers what they do not; both are needed.
	Runs       Runs
	Controller Controller
	// RedactedRuns and RedactedController are those of visitors who do not see what commands printed; nil where there are none.
	RedactedRuns       Runs
	RedactedController Controller
	// Owner opens the page with the address that URL returns; with TLS there is none, but those of Link. Version is the
	// program's, Called how a person calls it with the place of the runs; empty means divisi.
	Owner   Visitor
	Version string
	Called  string
	// Misasked is told what was refused before it was known whether it can be done: of a visitor who only looks, or what no act
	// takes. nil for no one.
	Misasked func(run, by, verb string, err error)
	// Memory bounds the lines of a run that are kept for browsers, in bytes; 0 means 32 MiB. Those of all runs that browsers show
	// have four times as much. Older ones are read from the log again.
	Memory int
	Logger zerolog.Logger
}

// Server is the dashboard of the runs of one place. The log of each is read and folded once for all browsers.
type Server struct {
	opts     Options
	overview *overview
	sessions *sessions
	// redacted is the page of visitors who are not shown what commands printed: without a listener of its own. nil for none.
	redacted *Server
	unveiled sync.Once
	// surveyPause is between two inspects all runs; look is sent to for one at once.
	surveyPause time.Duration
	look        chan struct{}
	// viewPause is the shortest time between two views that a browser gets.
	viewPause time.Duration
	// writeLimit is how long one write to a browser may take before it is dropped.
	writeLimit time.Duration
	listen     func(ctx context.Context, addr string) (net.Listener, error)
	// testDropped gets the position at which a slow browser was dropped; nil outside tests.
	testDropped func(pos uint64)

	mu    sync.Mutex
	rooms map[string]*room
	first string
	tabs  int
	empty chan struct{}
	url   string
	// address is the scheme, the host and the port.
	address string
	cookie  string
	hosts   map[string]bool
	cancel  context.CancelFunc
	// begin starts a goroutine of the server that ends with it, or earlier by the returned function.
	begin   func(do func(context.Context)) context.CancelFunc
	running sync.WaitGroup
}

// New checks the options and returns a server that does not listen yet. An address that is not a loopback address is an
// error: the page is not encrypted.
func New(o Options) (*Server, error) {
	if o.Runs == nil || o.Controller == nil {
		return nil, errors.New("dashboard: runs and a controller are needed")
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
	if err := checkLoopback(o.Addr); err != nil && o.TLS == nil {
		return nil, err
	}
	s := newServer(o)
	if o.RedactedRuns != nil {
		o.Runs, o.Controller = o.RedactedRuns, o.RedactedController
		s.redacted = newServer(o)
	}
	return s, nil
}

func newServer(o Options) *Server {
	return &Server{
		opts: o, overview: newOverview(), rooms: map[string]*room{}, viewPause: viewPause,
		sessions:    &sessions{clock: time.Now},
		writeLimit:  writeLimit,
		surveyPause: surveyPause, look: make(chan struct{}, 1), listen: listenTCP, empty: make(chan struct{}),
	}
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
	s.begin = func(do func(context.Context)) context.CancelFunc {
		one, end := context.WithCancel(run)
		s.running.Go(func() { defer end(); do(one) })
		return end
	}
	srv := &http.Server{
		Handler:           s.guard(s.routes()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return run },
		ErrorLog:          log.New(s.opts.Logger, "", 0),
	}
	s.running.Go(func() { s.serve(srv, l) })
	s.running.Go(func() { s.surveys(run) })
	if s.redacted != nil {
		s.redacted.begin = s.begin
	}
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
	at, ok := l.Addr().(*net.TCPAddr)
	switch {
	case ok && s.opts.TLS != nil:
		s.named(at.Port)
		return tls.NewListener(l, s.opts.TLS), nil
	case ok && at.IP.IsLoopback():
		s.hosts = allowedHosts(at.IP.String(), at.Port)
		s.address = "http://" + at.String()
		s.cookie = "divisi-" + strconv.Itoa(at.Port) // browsers keep one cookie of a name for all ports
		s.url = s.address + "/?token=" + s.sessions.link(s.opts.Owner, 0)
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

// surveys inspects all runs again and again, until ctx ends.
func (s *Server) surveys(ctx context.Context) {
	pause := time.NewTicker(s.surveyPause)
	defer pause.Stop()
	for {
		if err := s.survey(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Msg("the page does not know how the runs stand")
		}
		select {
		case <-ctx.Done():
			return
		case <-s.look:
		case <-pause.C:
		}
	}
}

// unveil begins to survey the runs for visitors who are not shown what commands printed, with the first of them.
func (s *Server) unveil() {
	s.unveiled.Do(func() {
		known := make(chan struct{})
		s.begin(func(ctx context.Context) {
			if err := s.redacted.survey(ctx); err != nil && ctx.Err() == nil {
				s.opts.Logger.Warn().Err(err).Msg("the page of viewers does not know how the runs stand")
			}
			close(known)
			s.redacted.surveys(ctx)
		})
		<-known
	})
}

// soon has the next survey begin now: something was done to a run.
func (s *Server) soon() {
	select {
	case s.look <- struct{}{}:
	default:
	}
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

// Begin has the page begin with a run, in place of the list of all.
func (s *Server) Begin(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = run
}

// named keeps the names under which other machines reach the page, by TLS.
func (s *Server) named(port int) {
	s.hosts = map[string]bool{}
	for _, h := range s.opts.Hosts {
		h = strings.ToLower(h) // as browsers send it
		s.hosts[net.JoinHostPort(h, strconv.Itoa(port))] = true
		if port == 443 {
			s.hosts[h] = true
		}
	}
	s.address = "https://" + net.JoinHostPort(s.opts.Hosts[0], strconv.Itoa(port))
	s.cookie = "__Host-divisi-" + strconv.Itoa(port)
}

// Link makes an address that admits one browser within its life.
func (s *Server) Link(v Visitor, life time.Duration) string {
	return s.Address() + "/?token=" + s.sessions.link(v, life)
}

// Address is that of the page once the server has started; no browser is admitted with it.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// End ends what a visitor was admitted to, and reports whether there was such a one.
func (s *Server) End(name string) bool { return s.sessions.end(name) }

// URL returns the page's address with its token once the server has started, and nothing before.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}
