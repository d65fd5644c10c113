package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/tool"

	"github.com/rs/zerolog"
)

// maxTools is how many tools all servers of one role may have together. Gemini takes 512 functions at most, and every one is sent
// with every request.
const maxTools = 200

// Options are the dependencies of servers.
type Options struct {
	// Starter starts the programs.
	Starter Starter
	// Environ is Divisi's own environment, as os.Environ returns it: what Env and Headers of a server name is taken from it.
	Environ []string
	// Start bounds one start of a server, up to its list of tools; zero means 15 seconds.
	Start time.Duration
	Log   zerolog.Logger
}

// Servers are the servers of one attempt.
type Servers struct {
	servers []*server
	tools   []tool.Tool
}

// Open starts and connects all servers at once, and lists their tools. Each is tried twice. The error names every server
// that could not be started, with its own last words, or says which definition is wrong; it is the cause of ctx when that ended.
// Then nothing is left running.
func Open(ctx context.Context, servers map[string]spec.MCPServer, o Options) (*Servers, error) {
	o.Start = cmp.Or(o.Start, startTime)
	s := &Servers{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		one, err := newServer(name, servers[name], o)
		if err != nil {
			return nil, err
		}
		s.servers = append(s.servers, one)
	}
	tools, errs := make([][]tool.Tool, len(s.servers)), make([]error, len(s.servers))
	var starting sync.WaitGroup
	for i, one := range s.servers {
		starting.Go(func() { tools[i], errs[i] = one.open(ctx) })
	}
	starting.Wait()
	s.tools = slices.Concat(tools...)
	if len(s.tools) > maxTools {
		errs = append(errs, fmt.Errorf("the MCP servers %s have %d tools together, and a model is shown %d at most: name those "+
			"that the role needs in tools of each server", strings.Join(slices.Sorted(maps.Keys(servers)), ", "),
			len(s.tools), maxTools))
	}
	err := errors.Join(errs...)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Tools are the tools of all servers, in a fixed order. They work until Close.
func (s *Servers) Tools() []tool.Tool { return slices.Clone(s.tools) }

// Close ends all servers, with everything that they started, and waits until they are gone. No call may be under way.
func (s *Servers) Close() {
	var closing sync.WaitGroup
	for _, one := range s.servers {
		closing.Go(one.close)
	}
	closing.Wait()
}
