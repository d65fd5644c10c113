package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/internal/usage"
)

const (
	headerTime = 5 * time.Second
	writeTime  = 30 * time.Second
	stopTime   = 3 * time.Second
	format     = "text/plain; version=0.0.4; charset=utf-8"
)

// Check refuses an address that other machines can reach: what is shown has no login.
func Check(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usage.Errorf("the address of the metrics %q must be host:port, such as 127.0.0.1:9100", addr)
	}
	if !loopback(host) {
		return usage.Errorf("the address of the metrics %q can be reached by other machines, and has no login: use "+
			"127.0.0.1:9100, and have a program of this machine read it", addr)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Serve shows at /metrics of an address what gather returns, one call at a time, until stop. It returns where it listens.
func Serve(
	ctx context.Context, addr string, gather func(context.Context) ([]Family, error),
) (at string, stop func(), err error) {
	if err := Check(addr); err != nil {
		return "", nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen for readers of the metrics: %w", err)
	}
	log, life := zerolog.Ctx(ctx), context.WithoutCancel(ctx)
	s := &http.Server{
		Handler: handler(gather, log), ReadHeaderTimeout: headerTime, WriteTimeout: writeTime,
		BaseContext: func(net.Listener) context.Context { return life },
	}
	var under sync.WaitGroup
	under.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error().Err(err).Msg("the metrics are shown no more")
		}
	})
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(life, stopTime)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close() // a reader that is still there is cut off
		}
		under.Wait()
	}, nil
}

func handler(gather func(context.Context) ([]Family, error), log *zerolog.Logger) http.Handler {
	var one sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback(host) { // a page in a browser of this machine
			http.Error(w, "use the address 127.0.0.1", http.StatusForbidden)
			return
		}
		one.Lock()
		defer one.Unlock()
		all, err := gather(r.Context())
		if err != nil {
			log.Warn().Err(err).Msg("the metrics could not be gathered")
			http.Error(w, "the numbers could not be gathered; see the log of the server", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", format)
		if err := Write(w, all); err != nil {
			log.Debug().Err(err).Msg("the reader of the metrics disconnected")
		}
	})
	return mux
}
