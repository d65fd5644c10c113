package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// startTime bounds the start of a server, up to its list of tools.
	startTime = 15 * time.Second
	// pingTime is how long a server that let a call run out of time has to show that it is alive.
	pingTime = time.Second
	// lives is how often a server is started in one attempt.
	lives = 2
)

// server is one server through its lives.
type server struct {
	name string
	def  spec.MCPServer
	vars variables
	opts Options

	// turn is held to read or change what follows: a lock that can be waited for with a context.
	turn chan struct{}
	live *connection
	// deaths counts, why reports how it died last, and given that it is given up.
	deaths int
	why    string
	given  error
	// closing are connections on their way out.
	closing sync.WaitGroup

	// calls numbers calls, heard are the listeners for their progress.
	calls atomic.Int64
	heard sync.Map
}

func newServer(name string, def spec.MCPServer, o Options) (*server, error) {
	vars, err := variablesOf(name, &def, o.Environ)
	if err != nil {
		return nil, err
	}
	if def.Empty() {
		return nil, fmt.Errorf("the MCP server %s has neither a command nor a url", name)
	}
	return &server{name: name, def: def, vars: vars, opts: o, turn: make(chan struct{}, 1)}, nil
}

// open starts the server and makes its tools.
func (s *server) open(ctx context.Context) ([]tool.Tool, error) {
	c, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	return s.toolsOf(c.tools)
}

// connection returns the connection that works, and makes one where there is none and the server may still be started.
func (s *server) connection(ctx context.Context) (*connection, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.live != nil && !s.live.over() {
		return s.live, nil
	}
	if s.live != nil {
		s.died("it ended by itself", false)
	}
	for s.given == nil {
		c, err := s.connect(ctx)
		if err == nil {
			s.live = c
			return c, nil
		}
		if ctx.Err() != nil { // the caller stopped waiting: that is no failure
			return nil, context.Cause(ctx)
		}
		s.mourn(err.Error())
	}
	return nil, s.given
}

// died takes leave of the connection. One that ended is soon gone, and then all of its last words are there. The caller holds the
// turn.
func (s *server) died(how string, hangs bool) {
	c := s.live
	s.live = nil
	if hangs || c.process == nil {
		s.closing.Go(c.close)
	} else {
		c.close()
	}
	s.mourn(how + c.lastWords())
}

// mourn counts a death. The caller holds the turn.
func (s *server) mourn(why string) {
	s.deaths++
	s.why = text.Short(s.vars.hide(visible(why)), maxWhy)
	if s.deaths >= lives {
		s.given = fmt.Errorf("the MCP server %s failed twice and is not started again: %s", s.name, s.why)
	}
	s.opts.Log.Warn().Str("server", s.name).Int("times", s.deaths).Str("why", s.why).Msg("an MCP server failed")
}

// lose gives a connection up, unless another call did that already, and reports what that means for the call.
func (s *server) lose(c *connection, how string, hangs bool) error {
	s.turn <- struct{}{} // the start of the server has Options.Start
	defer func() { <-s.turn }()
	if s.live == c {
		s.died(how, hangs)
	}
	if s.given != nil {
		return s.given
	}
	return fmt.Errorf("the MCP server %s failed in this call, and the effect of the call is not known: %s\n"+
		"The server is started again for the next call", s.name, s.why)
}

// call executes one call. The error says in words for the model what went wrong.
func (s *server) call(ctx context.Context, name string, args map[string]any) (*sdk.CallToolResult, error) {
	c, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	if s.def.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.def.Timeout))
		defer cancel()
	}
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	token := fmt.Sprintf("call-%d", s.calls.Add(1))
	params.SetProgressToken(token)
	s.heard.Store(token, func(note string) { tool.Beat(ctx, s.vars.hide(note)) })
	defer s.heard.Delete(token)
	result, err := c.session.CallTool(ctx, params)
	if err == nil {
		return result, nil
	}
	return nil, s.blame(ctx, c, err)
}

// blame finds out whether a call failed because the server did.
func (s *server) blame(ctx context.Context, c *connection, err error) error {
	switch {
	case answered(err):
		return errors.New(s.vars.hide(err.Error()))
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case ctx.Err() != nil && c.answers(ctx):
		return fmt.Errorf("the MCP server %s did not answer the call in time, and the effect of the call is not known", s.name)
	case ctx.Err() != nil:
		return s.lose(c, "it did not answer in time, nor when it was asked whether it lives", true)
	case c.answers(ctx):
		return errors.New(s.vars.hide(err.Error()))
	}
	return s.lose(c, wordsOf(err), false)
}

// answered reports whether an error is what the server itself answered, and not what the way to it came to.
func answered(err error) bool {
	const rejected, closing = -32005, -32003 // the SDK's own errors, down to this one, look like a server's
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && (wire.Code < rejected || wire.Code > closing)
}

func (s *server) close() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.given = fmt.Errorf("the MCP server %s is closed", s.name)
	if s.live != nil {
		s.closing.Go(s.live.close)
		s.live = nil
	}
	s.closing.Wait()
}

// beat passes on what a server says of a call's progress.
func (s *server) beat(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string) // a server can send anything, also what is no key of a map
	heard, ok := s.heard.Load(token)
	if !ok {
		return
	}
	note := oneLine(text.Short(r.Params.Message, maxDescription))
	if r.Params.Total > 0 {
		note = strings.TrimSpace(fmt.Sprintf("%g of %g %s", r.Params.Progress, r.Params.Total, note))
	}
	heard.(func(string))(note) //nolint:errcheck // only call stores here
}

// toolsOf makes the tools of what the server listed and its definition names.
func (s *server) toolsOf(listed []*sdk.Tool) ([]tool.Tool, error) {
	byName := map[string]*sdk.Tool{}
	for _, t := range listed {
		if byName[t.Name] == nil {
			byName[t.Name] = t
		}
	}
	names := toolNames(s.name, slices.Sorted(maps.Keys(byName)))
	var errs []error
	for _, want := range s.def.Tools {
		if names[want] == "" {
			hint := "it has " + strings.Join(shown(names), ", ")
			if near := spec.Nearest(want, slices.Sorted(maps.Keys(names))); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			errs = append(errs, fmt.Errorf("the MCP server %s has no tool %q; %s", s.name, want, hint))
		}
	}
	var tools []tool.Tool
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(s.def.Tools) == 0 || slices.Contains(s.def.Tools, name) {
			tools = append(tools, newRemote(s, names[name], byName[name]))
		}
	}
	return tools, errors.Join(errs...)
}
