// Command cmd serves the fake Gemini API from a script, for trying things by hand:
//
//	go run ./internal/testkit/geminitest/cmd [--addr HOST:PORT] [--delay DURATION] [--min-cache TOKENS] SCRIPT
//
// It prints the environment to set. GET /__log gives the requests and GET /__violations the breaches, one JSON document a
// line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"divisi/internal/testkit/geminitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "geminitest:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("geminitest", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on")
	delay := flags.Duration("delay", 0, "time to the first token of answers that name none")
	cache := flags.Int("min-cache", 0, "simulate implicit caching of prefixes from this size in tokens on; 0 for no cache")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("exactly one script is needed: " +
			"geminitest [--addr HOST:PORT] [--delay DURATION] [--min-cache TOKENS] SCRIPT")
	}
	script, err := geminitest.Load(flags.Arg(0))
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", *addr, err)
	}
	api := geminitest.New(geminitest.Options{Script: script, Delay: *delay, Implicit: *cache > 0, MinCache: *cache})
	server := &http.Server{Handler: api, ReadHeaderTimeout: 10 * time.Second}
	if _, err := fmt.Fprintf(out, "export GOOGLE_GEMINI_BASE_URL=http://%s\nexport GEMINI_API_KEY=fake\n", l.Addr()); err != nil {
		return errors.Join(fmt.Errorf("print the environment: %w", err), l.Close())
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err = <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	api.Close()
	err = server.Close()
	if serveErr := <-done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}
