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
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

const (
	defaultListen = "127.0.0.1:0"
	startPatience = 10 * time.Second
	memoryStore   = 64 << 20  // only readers' cursors live there
	unknownDisk   = 64 << 30  // ceiling of the store where the system does not say how large the disk is
	diskReserve   = 512 << 20 // left free, so that a full store still says so itself and others can still work
	diskExhausted = 8 << 20   // less than this and a write that got no answer failed because the disk is full
)

// embedded is a nats-server in this process with its store under a directory.
type embedded struct {
	srv *server.Server
	dir string
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

// startServer brings up the server with its store under o.Dir, ready for connections.
func startServer(o Options, cred credential) (*embedded, error) {
	so, err := serverOptions(o)
	if err != nil {
		return nil, err
	}
	so.CustomClientAuthentication = cred
	srv, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("%w: set up the embedded server: %w", ErrUnavailable, err)
	}
	log := &serverLog{log: o.Log.With().Str("from", "nats-server").Logger()}
	srv.SetLoggerV2(log, o.Log.GetLevel() <= zerolog.TraceLevel, false, false)
	srv.Start()
	e := &embedded{srv: srv, dir: o.Dir}
	if text := log.fatal(); text != "" {
		e.stop()
		return nil, fmt.Errorf("%w: start the embedded server in %s: %s", ErrUnavailable, o.Dir, text)
	}
	if !srv.ReadyForConnections(startPatience) {
		e.stop()
		return nil, fmt.Errorf("%w: the embedded server in %s was not ready within %s", ErrUnavailable, o.Dir, startPatience)
	}
	return e, nil
}

func serverOptions(o Options) (*server.Options, error) {
	listen := o.Listen
	if listen == "" {
		listen = defaultListen
	}
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q is not host:port", ErrUnavailable, listen)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: listen address %q has no port number", ErrUnavailable, listen)
	}
	so := &server.Options{
		ServerName: "divisi-" + rand.Text()[:8], Host: host, Port: int(port), NoSigs: true,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync == nil || *o.Sync, DisableJetStreamBanner: true,
		JetStreamMaxMemory: memoryStore, JetStreamMaxStore: o.MaxStore,
	}
	if port == 0 {
		so.Port = server.RANDOM_PORT
	}
	if so.JetStreamMaxStore == 0 {
		so.JetStreamMaxStore = storeCeiling(o.Dir)
	}
	return so, nil
}

// storeCeiling is what the store may grow to: what it has plus what the disk has left, less a reserve.
func storeCeiling(dir string) int64 {
	free, ok := diskFree(dir)
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

// fault returns why the store cannot take a write that went unanswered; nil when it looks sound.
func (e *embedded) fault() error {
	if free, ok := diskFree(e.dir); ok && free < diskExhausted {
		return fmt.Errorf("%w: %d bytes left on the disk of %s; make room and start again", ErrFull, free, e.dir)
	}
	if !e.srv.JetStreamEnabled() {
		return fmt.Errorf("%w: the store in %s has shut itself down (the log says why)", ErrUnavailable, e.dir)
	}
	return nil
}

// stop returns when every file of the store is closed.
func (e *embedded) stop() {
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
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
