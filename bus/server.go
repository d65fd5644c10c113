package bus

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"divisi/bus/member"
	"divisi/internal/machine"
)

const (
	defaultListen  = "127.0.0.1:0"
	startPatience  = 10 * time.Second
	memoryStore    = 64 << 20  // only readers' cursors live there
	unknownDisk    = 64 << 30  // ceiling of the store where the system does not report how large the disk is
	diskReserve    = 512 << 20 // left free, so that a full store still says so itself and others can still work
	maxConnections = 1 << 20
	diskExhausted  = 8 << 20 // less than this and a write that got no answer failed because the disk is full
)

// embedded is a nats-server in this process with its store under a directory. It can be restarted.
type embedded struct {
	options Options
	cred    credential
	dir     string
	srv     atomic.Pointer[server.Server]
	closing atomic.Bool
	starts  atomic.Int64
	log     *serverLog // that of the server that was started last
}

// credential admits the clients that know one generated user and password.
type credential struct{ user, password string }

func newCredential() credential { return credential{user: "divisi", password: rand.Text()} }

// Check implements server.Authentication.
func (c credential) Check(client server.ClientAuthentication) bool {
	o := client.GetOpts()
	return subtle.ConstantTimeCompare([]byte(o.Username), []byte(c.user)) == 1 &&
		subtle.ConstantTimeCompare([]byte(o.Password), []byte(c.password)) == 1
}

// clients are all who may use the embedded server, until it closes.
type clients struct {
	closing *atomic.Bool
	owner   credential
	members *member.Registry // nil where there are none
}

// Check implements server.Authentication. A member that did not come by the gate could ask for what that refuses.
func (c clients) Check(client server.ClientAuthentication) bool {
	if c.closing.Load() {
		return false
	}
	return c.owner.Check(client) || c.members != nil && client.RemoteAddress().Network() == "pipe" && c.members.Check(client)
}

// startServer brings up the server with its store under o.Dir, ready for connections.
func startServer(o Options, cred credential) (*embedded, error) {
	e := &embedded{options: o, cred: cred, dir: o.Dir}
	return e, e.start()
}

func (e *embedded) start() error {
	listen := listenAddress(e.options)
	if e.options.Members != nil && e.starts.Load() == 0 { // those come in by the gate
		listen = defaultListen
	}
	so, err := serverOptions(e.options, listen)
	if err != nil {
		return err
	}
	so.CustomClientAuthentication = clients{&e.closing, e.cred, e.options.Members}
	srv, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("%w: set up the embedded server: %w", ErrUnavailable, err)
	}
	log := newServerLog(e.options.Log.With().Str("from", "nats-server").Logger())
	e.log = log
	srv.SetLoggerV2(log, e.options.Log.GetLevel() <= zerolog.TraceLevel, false, false)
	kept, err := fs.Glob(os.DirFS(e.dir), filepath.ToSlash(filepath.Join(streamDir("*"), "obs", "*")))
	if err != nil {
		return fmt.Errorf("%w: list readers and queues in %s: %w", ErrUnavailable, e.dir, err)
	}
	srv.Start()
	e.srv.Store(srv)
	e.starts.Add(1)
	if text := log.fatal(); text != "" {
		e.stop()
		return fmt.Errorf("%w: start the embedded server in %s: %s", ErrUnavailable, e.dir, text)
	}
	if !srv.ReadyForConnections(startPatience) {
		e.stop()
		return fmt.Errorf("%w: the embedded server in %s was not ready within %s", ErrUnavailable, e.dir, startPatience)
	}
	e.options.Listen = srv.Addr().String()
	if err := e.dropUnread(srv, kept); err != nil {
		e.stop() // or it would continue writing a store that another process can take
		return err
	}
	return nil
}

// dropUnread removes the directories of readers and queues that the server could not read: it refuses to make those again. Their
// unacknowledged messages are dispatched again. kept are the directories from before its start: a client that has come back since
// makes others.
func (e *embedded) dropUnread(srv *server.Server, kept []string) error {
	known, err := srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true})
	if err != nil {
		return fmt.Errorf("%w: list what the embedded server in %s has: %w", ErrUnavailable, e.dir, err)
	}
	had := map[string]bool{}
	for _, a := range known.AccountDetails {
		for _, s := range a.Streams {
			for _, c := range s.Consumer {
				had[filepath.Join(streamDir(s.Name), "obs", c.Name)] = true
			}
		}
	}
	for _, dir := range kept {
		if dir = filepath.FromSlash(dir); err == nil && !had[dir] {
			err = os.RemoveAll(filepath.Join(e.dir, dir))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: remove what cannot be read of the store: %w", ErrUnavailable, err)
	}
	return nil
}

// restart restarts the server where it listened before: its store is read again, and its ceiling is that of the disk now. A
// damaged one stays as it is.
func (e *embedded) restart() error {
	e.stop()
	r, err := restOf(e.dir)
	if err != nil {
		return err
	}
	if err = errors.Join(r.sound(), r.log.copy.close()); err == nil && r.damage != "" {
		err = fmt.Errorf("%w: of stream %s %s", ErrDamaged, streamEvents, r.damage)
	}
	if err != nil {
		return err
	}
	return e.start()
}

// lacks returns which of streams the server does not have where they could be read from their files; "" for none.
func (e *embedded) lacks(all ...*files) string {
	known, err := e.srv.Load().Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return "" // it is asked again
	}
	last := map[string]uint64{}
	for _, a := range known.AccountDetails {
		for _, s := range a.Streams {
			last[s.Name] = s.State.LastSeq
		}
	}
	for _, s := range all {
		if last[s.name] < s.end() {
			return fmt.Sprintf("its server reads stream %s up to %d of %d", s.name, last[s.name], s.end())
		}
	}
	return ""
}

// quiet ends all connections but one, and admits no others: what the log has then is all of it.
func (e *embedded) quiet(but *nats.Conn) error {
	e.closing.Store(true)
	mine, err := but.GetClientID()
	if err != nil {
		return err
	}
	srv := e.srv.Load()
	all, err := srv.Connz(&server.ConnzOptions{Limit: maxConnections})
	if err != nil {
		return err
	}
	for _, c := range all.Conns {
		if c.Cid != mine {
			if err := srv.DisconnectClientByID(c.Cid); err != nil {
				return err
			}
		}
	}
	return nil
}

// InProcessConn implements nats.InProcessConnProvider: a client that connects again finds the server that was started last.
func (e *embedded) InProcessConn() (net.Conn, error) { return e.srv.Load().InProcessConn() }

func listenAddress(o Options) string {
	if o.Listen == "" {
		return defaultListen
	}
	return o.Listen
}

// guarded refuses to listen to other machines without members and TLS.
func guarded(o Options) error {
	host, _, err := net.SplitHostPort(listenAddress(o))
	switch {
	case err != nil:
		return fmt.Errorf("%w: listen address %q is not host:port", ErrUnavailable, o.Listen)
	case (o.Members == nil) != (o.TLS == nil):
		return fmt.Errorf("%w: members and TLS go together, and one of them was not given", ErrUnavailable)
	case o.Members == nil && o.WebSocket != "":
		return fmt.Errorf("%w: WebSocket is for members, and there are none", ErrUnavailable)
	case o.Members == nil && !loopback(host):
		return fmt.Errorf("%w: other machines can reach the address %s: that needs a certificate and a registry of members",
			ErrUnavailable, o.Listen)
	}
	return nil
}

func serverOptions(o Options, listen string) (*server.Options, error) {
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q is not host:port", ErrUnavailable, listen)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q has no port number", ErrUnavailable, listen)
	}
	so := &server.Options{
		ServerName: o.Speaks.join("divisi-" + rand.Text()[:8]), Host: host, Port: int(port), NoSigs: true,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync == nil || *o.Sync, DisableJetStreamBanner: true,
		JetStreamMaxMemory: memoryStore, JetStreamMaxStore: o.MaxStore,
		AlwaysEnableNonce: o.Members != nil,
	}
	if port == 0 {
		so.Port = server.RANDOM_PORT
	}
	if so.JetStreamMaxStore == 0 {
		so.JetStreamMaxStore = storeCeiling(o.Dir)
	}
	return so, nil
}

// loopback reports whether only this machine can reach a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// storeCeiling is what the store may grow to: what it has plus what the disk has left, less a reserve.
func storeCeiling(dir string) int64 {
	free, ok := machine.Free(dir)
	if !ok {
		return unknownDisk
	}
	var used int64
	err := filepath.WalkDir(filepath.Join(dir, "jetstream"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		used += info.Size()
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return unknownDisk
	}
	return max(used+free-diskReserve, used+free/2)
}

// fault returns why the store cannot take a write that went unanswered; nil when it looks sound. ErrFull when its disk is full.
func (e *embedded) fault() error {
	if free, ok := machine.Free(e.dir); ok && free < diskExhausted {
		return fmt.Errorf("%w: the disk of %s has %d KiB left, and %d KiB more are needed", ErrFull, e.dir, free>>10,
			(diskExhausted-free)>>10)
	}
	srv := e.srv.Load()
	if !srv.JetStreamEnabled() {
		return fmt.Errorf("%w: the store in %s has shut itself down (the log says why)", ErrUnavailable, e.dir)
	}
	if health := srv.Healthz(nil); strings.Contains(health.Error, "write error") {
		return fmt.Errorf("%w: the store in %s: %s", ErrUnavailable, e.dir, health.Error)
	}
	return nil
}

// outgrown returns why the store takes nothing more although its disk has room again: its ceiling is that of its start.
func (e *embedded) outgrown() error {
	now, err := e.srv.Load().Jsz(nil)
	if err != nil || now.Config.MaxStore-int64(now.Store) > MaxData || storeCeiling(e.dir)-now.Config.MaxStore < 16*MaxData {
		return nil //nolint:nilerr // a server that does not answer has another fault
	}
	return fmt.Errorf("%w: it has reached %d MiB", ErrFull, now.Store>>20)
}

// stop returns when every file of the store is closed.
func (e *embedded) stop() {
	srv := e.srv.Load()
	srv.Shutdown()
	srv.WaitForShutdown()
	e.log.denied.close()
}

// stopWithin stops the server and calls then afterwards. When ctx ends first, both still happen, later.
func (e *embedded) stopWithin(ctx context.Context, then func() error) error {
	done := make(chan error, 1)
	go func() {
		e.stop()
		done <- then()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: the server in %s still writes its store; the lock stays until it is done", ErrUnavailable, e.dir)
	}
}
