package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Own is a service of Divisi for one command, which needs no network for it. Handler is called on goroutines that end with the
// command; Environ are the variables that tell the command where it is, given its address as http://127.0.0.1:PORT. The zero
// value is none.
type Own struct {
	Handler http.Handler
	Environ func(address string) []string
}

// ownAddress is where a command with a proxy of its own finds that, and the service with it.
var ownAddress = "127.0.0.1:" + strconv.Itoa(proxyPort)

// withOwn tells the command where its service is. A command without the network has a proxy that connects to no host: an
// address of this machine is refused as such. Without namespaces there is none, and what holds the network back holds its
// service back too: then the command has both, and the service listens on the machine's loopback until end, which returns when
// its last call is over.
func (l Level) withOwn(ctx context.Context, c Command) (_ Command, end func() error, err error) {
	end = func() error { return nil }
	if c.Own.Handler == nil {
		return c, end, nil
	}
	if !c.Network && l.have(Namespaces) {
		c.Hosts = []string{"127.0.0.1"}
	}
	c.Network = true
	address := ownAddress
	if !l.have(Namespaces) {
		if address, end, err = listen(ctx, c.Own.Handler); err != nil {
			return c, nil, fmt.Errorf("serve the models of %s: %w", c.Args[0], err)
		}
	}
	c.Env = slices.Concat(c.Env, c.Own.Environ("http://"+address))
	return c, end, nil
}

func listen(ctx context.Context, h http.Handler) (address string, end func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is there at once
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	over := make(chan error, 1)
	go func() { over <- server.Serve(l) }()
	return l.Addr().String(), func() error {
		err := server.Close()
		if served := <-over; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
