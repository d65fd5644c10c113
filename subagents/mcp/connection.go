package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"divisi/internal/release"
)

// maxListed is how many tools a server may list, before the role's choice among them.
const maxListed = 2000

// legacy is the version of the protocol for a server that the newest did not work with: some take no other first word.
const legacy = "2025-11-25"

// connection is one life of a server.
type connection struct {
	session *sdk.ClientSession
	// process is nil for an address, caller for a program.
	process Process
	caller  *caller
	tools   []*sdk.Tool
	// gone is closed when the session is over.
	gone chan struct{}
}

// connect starts the server and lists its tools. The caller holds the turn.
func (s *server) connect(ctx context.Context) (c *connection, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Start, fmt.Errorf("it was not ready after %s", s.opts.Start))
	defer cancel()
	c = &connection{gone: make(chan struct{})}
	var way sdk.Transport
	if s.def.URL != "" {
		c.caller = newCaller(s.vars.headers)
		way = c.caller.transportTo(s.def.URL)
	} else {
		if c.process, err = s.opts.Starter.Start(ctx, s.def.Command, s.vars.env); err != nil {
			return nil, err
		}
		way = &sdk.IOTransport{Reader: newLines(c.process), Writer: c.process, MaxLineLength: maxMessage}
	}
	options := &sdk.ClientSessionOptions{}
	if s.deaths > 0 {
		options.ProtocolVersion = legacy
	}
	if c.session, err = s.client().Connect(ctx, way, options); err == nil {
		go func() {
			defer close(c.gone)
			_ = c.session.Wait() // how it ended is reported to the next call
		}()
		c.tools, err = list(ctx, c.session)
	}
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.close()
	return nil, errors.New(wordsOf(err) + c.lastWords())
}

// wordsOf reports what a failed session means.
func wordsOf(err error) string {
	if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) {
		return "it ended, or closed its standard output"
	}
	return err.Error()
}

// client makes a client that offers servers nothing: no roots, no model, no questions to a person.
func (s *server) client() *sdk.Client {
	c := sdk.NewClient(&sdk.Implementation{Name: "divisi", Version: release.Version()}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: s.beat,
	})
	c.AddReceivingMiddleware(refuse(s.opts.Log.With().Str("server", s.name).Logger()))
	return c
}

// refuse answers what servers ask for. Tools that change while an attempt continues would change what its model was told.
func refuse(log zerolog.Logger) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch {
			case method == "notifications/tools/list_changed":
				log.Info().Msg("an MCP server changed its tools; the attempt continues with the earlier ones")
				return next(ctx, method, req)
			case method == "ping" || strings.HasPrefix(method, "notifications/"):
				return next(ctx, method, req)
			}
			log.Info().Str("method", method).Msg("an MCP server made an unsupported request")
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client has no " + method}
		}
	}
}

// list asks for all tools, page by page.
func list(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	var tools []*sdk.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		if tools = append(tools, t); len(tools) > maxListed {
			return nil, fmt.Errorf("it lists more than %d tools", maxListed)
		}
	}
	return tools, nil
}

// over reports whether the session has ended.
func (c *connection) over() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// answers asks the server whether it lives. A call that has run out of time does not keep it from being asked.
func (c *connection) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	err := c.session.Ping(ctx, nil)
	return err == nil || answered(err)
}

// lastWords returns the end of a program's standard error, as the end of a sentence.
func (c *connection) lastWords() string {
	if c.process == nil {
		return ""
	}
	tail := strings.TrimSpace(c.process.Tail())
	if tail == "" {
		return "; it wrote nothing to its standard error"
	}
	return "; the end of its standard error:\n" + tail
}

// close ends the server and returns when it is gone. A program goes first: then nothing that the session waits for can hang.
func (c *connection) close() {
	if c.process != nil {
		_ = c.process.Close() // it is gone in any case
	}
	if c.session != nil {
		_ = c.session.Close() // how it ended was told
		<-c.gone
	}
	if c.caller != nil {
		c.caller.transport.CloseIdleConnections()
	}
}
