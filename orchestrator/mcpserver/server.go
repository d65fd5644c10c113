package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"divisi/internal/usage"
	"divisi/orchestrator/dashboard"
)

const (
	// maxMessage bounds one message of the client, and maxArguments those of a call, in bytes: of these the client is told.
	maxMessage   = 4 << 20
	maxArguments = 1 << 20
	// maxAnswer bounds an answer, in bytes: an agent reads it whole.
	maxAnswer = 256 << 10
	// maxCalls bounds the calls under way: each may have a process, and holds files and a connection.
	maxCalls = 32
	// lastWords is how long an answer may still be written when the connection is over.
	lastWords = time.Second
)

// Options choose the tools of a server.
type Options struct {
	// Repo is the top of the repository whose roles are listed, and StateDir where the runs are kept.
	Repo, StateDir string
	Runs           dashboard.Runs
	Controller     dashboard.Controller
	// Preview expands a plan file, and Start begins a run and returns its id. They may be called from many goroutines. The error
	// of Start, and that of an act of Controller, is a *QuestionError where a person must agree first.
	Preview func(ctx context.Context, w Work) (Preview, error)
	Start   func(ctx context.Context, w Work) (run string, err error)
	// Acts allows what changes something: to start runs, and to act on them. Person is the name of the one for whom a client
	// acts. ToAct is the command of a server that acts.
	Acts   bool
	ToAct  string
	Person string
	// Words are an error as the client reads it, and Calls a text whose commands find the same runs.
	Words   func(error) string
	Calls   func(string) string
	Version string
	Logger  zerolog.Logger
}

// Server is a server for one client.
type Server struct {
	opts Options
	mcp  *sdk.Server
	// tools are the schemas of the arguments of the tools that are offered, by name.
	tools map[string]*jsonschema.Schema
	asked asked
}

// New makes a server that is not served yet.
func New(o Options) *Server {
	s := &Server{opts: o, tools: map[string]*jsonschema.Schema{}}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "divisi", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions(o.Acts, o.ToAct), Logger: logger(o.Logger),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	s.addSchemas()
	s.addReport()
	s.addReads()
	if o.Acts {
		s.addActs()
	}
	return s
}

// Serve serves the client at the other end until it closes the connection, or ctx ends.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	life, end := context.WithCancel(ctx)
	defer end()
	s.mcp.AddReceivingMiddleware(s.bounded(life))
	from, to := &source{ReadCloser: in, gone: end}, &sink{WriteCloser: out, over: make(chan struct{})}
	defer context.AfterFunc(life, func() { time.AfterFunc(lastWords, func() { close(to.over) }) })()
	err := s.mcp.Run(ctx, &sdk.IOTransport{Reader: from, Writer: to, MaxLineLength: maxMessage})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe):
		return usage.Errorf("the client broke the protocol, and the server ends: %v", err)
	}
	return nil
}

// source reads the messages of the client. gone is called when nothing more comes.
type source struct {
	io.ReadCloser

	gone func()
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.gone()
	}
	return n, err
}

// sink writes the messages to the client. A client that reads nothing does not keep the server: what is not written when over is
// closed is lost.
type sink struct {
	io.WriteCloser

	over chan struct{}
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	written := make(chan error, 1)
	data := bytes.Clone(p)
	go func() { // it can outlast the server, not the process: nothing ends a write to a full pipe
		_, err := s.WriteCloser.Write(data)
		written <- err
	}()
	select {
	case err := <-written:
		return len(p), err
	case <-s.over:
		return 0, io.ErrClosedPipe
	}
}

// bounded ends calls with the life of the connection, and refuses those that are too large, too many, or misspelled.
func (s *Server) bounded(life context.Context) sdk.Middleware {
	under := make(chan struct{}, maxCalls)
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			call, is := req.(*sdk.CallToolRequest)
			if !is {
				return next(ctx, method, req)
			}
			if n := len(call.Params.Arguments); n > maxArguments {
				return refused(fmt.Sprintf("the arguments have %d bytes; at most %d are allowed", n, maxArguments)), nil
			}
			if of := s.tools[call.Params.Name]; of != nil {
				if err := accept(call.Params.Name, of, call.Params.Arguments); err != nil {
					return refused(err.Error()), nil
				}
			}
			select {
			case under <- struct{}{}:
				defer func() { <-under }()
				return next(ctx, method, req)
			default:
				return refused(fmt.Sprintf("%d calls are under way, and no more are begun: wait for an answer", maxCalls)), nil
			}
		}
	}
}

// refused is the answer to a call that cannot be done.
func refused(why string) *sdk.CallToolResult {
	var r sdk.CallToolResult
	r.SetError(errors.New(visible(why)))
	return &r
}

// tool describes a tool for a client.
type tool struct {
	name, does string
	// acts reports that it changes something, loses that what it does cannot be taken back.
	acts, loses bool
	// most bounds the argument limit; 0 for none. oneOf are the values that an argument can have, by its name.
	most  int
	oneOf map[string][]string
	// takes describes its arguments; nil where the type of its input does.
	takes *jsonschema.Schema
}

// caller is the client of a call: the person for whom it acts, with the client's name, and its request.
type caller struct {
	by  string
	req *sdk.CallToolRequest
}

// add adds a tool. Its answer is bounded, and has no character that is not seen as itself.
func add[In, Out any](s *Server, t tool, do func(ctx context.Context, by caller, in In) (Out, error)) {
	closed := false
	if s.tools[t.name] = t.takes; t.takes == nil {
		s.tools[t.name] = arguments[In](t)
	}
	of := &sdk.Tool{Name: t.name, Description: t.does, InputSchema: s.tools[t.name], Annotations: &sdk.ToolAnnotations{
		ReadOnlyHint: !t.acts, DestructiveHint: &t.loses, OpenWorldHint: &closed,
	}}
	sdk.AddTool(s.mcp, of, func(ctx context.Context, req *sdk.CallToolRequest, in In) (_ *sdk.CallToolResult, out Out, _ error) {
		ask, err := s.agreed(ctx, req, func() (err error) {
			out, err = do(ctx, caller{s.client(req), req}, in)
			return err
		})
		if err == nil && ask == nil {
			out, err = shown(out)
		}
		s.opts.Logger.Debug().Err(err).Str("tool", t.name).Msg("a client called a tool")
		if err != nil {
			return nil, out, errors.New(visible(s.opts.Words(err)))
		}
		return ask, out, nil
	})
}

// shown is an answer as the client is given it.
func shown[Out any](out Out) (Out, error) {
	var whole any
	data, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(data, &whole)
	}
	if err == nil {
		data, err = json.Marshal(clean(whole))
	}
	var safe Out
	if err == nil {
		err = json.Unmarshal(data, &safe)
	}
	switch {
	case err != nil:
		return out, fmt.Errorf("write the answer: %w", err)
	case len(data) > maxAnswer:
		return out, usage.Errorf("the answer has %d bytes, and at most %d are sent: ask for less, by a smaller limit or one task",
			len(data), maxAnswer)
	}
	return safe, nil
}

// clean is a value of JSON in whose texts every character is seen as itself.
func clean(v any) any {
	switch v := v.(type) {
	case string:
		return visible(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = clean(v[name])
		}
	}
	return v
}

// within refuses a text of a call that is too long, or that no program can be given.
func within(what, value string, most int) error {
	switch {
	case len(value) > most:
		return usage.Errorf("%s has %d bytes; at most %d are allowed", what, len(value), most)
	case strings.ContainsRune(value, 0):
		return usage.Errorf("%s has a NUL character", what)
	}
	return nil
}
