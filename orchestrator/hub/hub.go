// Package hub serves a team: the bus where its members meet, permissions, its audit, its gauges, its page and its backup. Its
// input are the options of the server, and what its operator asks; its output is a server that runs until it is stopped, with a
// host and, where it has places, a worker. It conducts no run itself.
package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/release"
	"divisi/internal/usage"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/host"
	"divisi/orchestrator/metrics"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// ServeOptions describe a server in this process.
type ServeOptions struct {
	StateDir string
	// Listen is host:port where members connect; Hosts are the names under which they reach it, the first one in tokens. Without
	// one it is the host of Listen, or the name of the machine.
	Listen string
	Hosts  []string
	// WebSocket is where members connect by WebSocket too, as proxies let them; "" for not.
	WebSocket string
	// At is a NATS server that is there already, in place of one in this process: then Listen, Hosts and WebSocket are empty.
	At depot.Server
	// Agents and Gates are the places of a worker in this process; no agents for none.
	Agents, Gates int
	Strict        bool
	Keep          time.Duration // see host.Options
	// Metrics is a loopback host:port that programs of this machine read numbers from; "" for none.
	Metrics string
	// Page is where people open the page of the server's runs, with TLS; "" for not.
	Page string
	// Ready is told once that the server is there.
	Ready  func(at Serving)
	Notice func(text string)
}

// Serving is where members connect, where they do by WebSocket, and where numbers are read; "" for not.
type Serving struct {
	URL       string `json:"url"`
	WebSocket string `json:"websocket,omitempty"`
	Metrics   string `json:"metrics,omitempty"`
	Page      string `json:"page,omitempty"`
}

// hubDir is, in a state directory, the directory of its server.
const hubDir = "serve"

func hubBus(stateDir string) string { return filepath.Join(stateDir, hubDir, "bus") }

// Serve is a server, with a host that conducts what is submitted and, where it has places, a worker, until ctx ends. It goes
// on with the runs of the server before it.
func Serve(ctx context.Context, o ServeOptions) (err error) {
	stateDir, err := filepath.Abs(o.StateDir)
	if err != nil || o.StateDir == "" {
		return usage.Errorf("StateDir %q cannot hold a server: name a directory", o.StateDir)
	}
	var c depot.Closers
	defer c.Release()
	book, err := o.book(stateDir)
	if err != nil {
		return err
	}
	c.Later(book.Close)
	if o.Metrics != "" {
		if err := metrics.Check(o.Metrics); err != nil {
			return err
		}
	}
	if o.Page != "" && o.At.URL != "" {
		return usage.Errorf("the page is that of a server of its own: on a NATS cluster each person opens one")
	}
	at, ready := o.At, Serving{URL: o.At.String()}
	var k *keeper
	numbers := gauges{}
	hosting := host.Options{StateDir: stateDir, Strict: o.Strict, Commands: o.Agents > 0, Keep: o.Keep, Audit: book}
	if at.URL == "" {
		if k, err = openHub(ctx, stateDir, &o, book, &c); err != nil {
			return err
		}
		b := k.bus
		hosting.Members, hosting.Revoke = k.registry, k.revokeWorker
		numbers.filled, numbers.certificate = b.Filled, k.ends
		at = depot.Server{URL: b.URL(), Login: filepath.Join(hubBus(stateDir), bus.OwnerFile)}
		ready.URL, ready.WebSocket = o.named(b.MemberURL()), o.named(b.WebSocketURL())
	}
	notice := func(run, text string) {
		if run != "" {
			text = "run " + run + ": " + text
		}
		o.Notice(text)
	}
	hosting.Server, hosting.Notice = at, notice
	host, err := host.NewHost(hosting)
	if err == nil {
		err = host.Start(ctx)
	}
	if err != nil {
		return err
	}
	c.Later(host.Stop)
	if o.Page != "" {
		if ready.Page, err = k.open(ctx, host, at, &c); err != nil {
			return err
		}
	}
	if o.Agents > 0 {
		stop, err := o.work(ctx, stateDir, at)
		switch {
		case fault.IsUsage(err): // the server is there for other workers
			o.Notice(fmt.Sprintf("the server has no worker of its own: %v", err))
		case err != nil:
			return err
		default:
			c.Later(stop)
		}
	}
	if o.Metrics != "" {
		numbers.host = host
		if ready.Metrics, err = numbers.show(ctx, o.Metrics, at, &c); err != nil {
			return err
		}
	}
	o.Ready(ready)
	select {
	case <-ctx.Done():
		return nil
	case err := <-host.Failed():
		return err
	}
}

// book opens the audit log of a state directory.
func (o *ServeOptions) book(stateDir string) (*audit.Log, error) {
	if err := os.MkdirAll(filepath.Join(stateDir, hubDir), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the server: %w", err)
	}
	return audit.Open(auditFile(stateDir), depot.Now, func(err error) { o.Notice(err.Error()) })
}

// work starts the server's own worker; stop hands back what it has begun.
func (o *ServeOptions) work(ctx context.Context, stateDir string, at depot.Server) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w, err := station.NewWorker(ctx, station.WorkerOptions{
		StateDir: filepath.Join(stateDir, hubDir), Server: at, Agents: o.Agents, Gates: o.Gates, Notice: o.Notice,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx); err != nil {
			o.Notice(fmt.Sprintf("the worker of the server has ended: %v", err))
		}
	}()
	return func() { cancel(); <-ended; w.Close() }, nil
}

// openHub starts the server for members, and answers those who join.
func openHub(ctx context.Context, stateDir string, o *ServeOptions, book *audit.Log, c *depot.Closers) (*keeper, error) {
	dir := filepath.Join(stateDir, hubDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the server: %w", err)
	}
	if err := o.name(); err != nil {
		return nil, err
	}
	members, err := member.Open(dir, depot.Now)
	if err != nil {
		return nil, err
	}
	members.OnDenied(func(who string) { book.Add(audit.Entry{By: "unknown", What: audit.Denied, Detail: who}) })
	cert, digest, err := member.Certificate(dir, o.Hosts, depot.Now)
	if err != nil {
		return nil, err
	}
	log := *zerolog.Ctx(ctx)
	away := turned{speaks: wire.Speaks(release.Version()), notice: o.Notice, members: map[string]turnedMember{}}
	b, err := bus.Open(ctx, bus.Options{
		Speaks: away.speaks, Met: away.met,
		Dir: hubBus(stateDir), Listen: o.Listen, WebSocket: o.WebSocket, Members: members, Log: log,
		TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13},
	})
	if held := (*bus.LockedError)(nil); errors.As(err, &held) {
		return nil, usage.Errorf("a server of %s runs already, as process %d: stop it, or give this one another directory",
			stateDir, held.PID)
	}
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	c.Later(func() { closeServer(ctx, b) })
	quit, err := depot.Present(ctx, b, func() { away.say(ctx, &depot.Place{Log: log}, b) })
	if err != nil {
		return nil, err
	}
	c.Later(quit)
	b.WaitForRoom(o.Notice)
	c.Later(b.Mend())
	c.Later(b.Guard(depot.Now, func(worker, what string) {
		book.Add(audit.Entry{By: worker, What: audit.Denied, Detail: what})
		o.Notice("worker " + worker + " " + what)
	}))
	stop, err := b.ServeJoins(ctx, func(m member.Member, err error) { joined(book, m, err) })
	if err != nil {
		return nil, err
	}
	c.Later(stop)
	c.Later(watchEnd(ctx, cert.Leaf.NotAfter, o.Notice))
	k := &keeper{
		o: o, registry: members, bus: b, digest: digest, audit: book, ends: cert.Leaf.NotAfter, certificate: cert,
	}
	if stop, err = k.listen(ctx); err != nil {
		return nil, err
	}
	c.Later(stop)
	return k, nil
}

// name finds the names of the server where none are given.
func (o *ServeOptions) name() error {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return usage.Errorf("listen %q: must be host:port", o.Listen)
	}
	if len(o.Hosts) > 0 {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return usage.Errorf("the machine has no name: say under which name it is reached")
		}
	}
	o.Hosts = []string{host}
	return nil
}

// named is where members connect, by the name of the server.
func (o *ServeOptions) named(url string) string {
	scheme, address, _ := strings.Cut(url, "://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return url
	}
	return scheme + "://" + net.JoinHostPort(o.Hosts[0], port)
}
