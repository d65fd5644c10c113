package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/subagents/tool"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// serve makes the test binary a server; its value is the kind of server.
const serve = "DIVISI_TEST_MCP"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serve); kind != "" {
		os.Exit(runServer(kind)) //nolint:forbidigo // here the test binary is another program
	}
	// The Google client brings OpenCensus, whose init starts a goroutine that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// runServer is what a server program does, by its kind.
func runServer(kind string) int {
	kind, rest, _ := strings.Cut(kind, " ")
	switch kind {
	case "plain":
		return runPlain()
	case "chatty":
		fmt.Fprintln(os.Stdout, "Welcome to the server!")
		return runPlain()
	case "once": // fails at its first start
		if f, err := os.OpenFile(rest, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			fmt.Fprintln(os.Stderr, "the disk is full, token s3cret-token")
			return errorCode(f.Close())
		}
		return runPlain()
	case "fails":
		fmt.Fprintln(os.Stderr, "no such licence")
		return 3
	case "silent":
		_, err := io.Copy(io.Discard, os.Stdin)
		return errorCode(err)
	case "garbage":
		fmt.Fprintln(os.Stdout, `{"jsonrpc": oops`)
		_, err := io.Copy(io.Discard, os.Stdin)
		return errorCode(err)
	case "floods":
		for err := error(nil); err == nil; {
			_, err = fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`+"\n", rest)
		}
		return 1
	case "lists":
		return runLister(rest)
	}
	return 2
}

func errorCode(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

func runPlain() int {
	return errorCode(plainServer().Run(context.Background(), &sdk.StdioTransport{}))
}

type arguments struct {
	Text string `json:"text,omitempty" jsonschema:"what to say"`
	N    int    `json:"n,omitempty"`
}

type handler = sdk.ToolHandlerFor[arguments, any]

func said(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// plainServer is made with the SDK. Its tools do what their names say.
func plainServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "plain", Version: "1"}, nil)
	finish, waiting := make(chan struct{}), make(chan struct{}, 10)
	add := func(name string, reads bool, h handler) {
		sdk.AddTool(s, &sdk.Tool{
			Name: name, Description: "Does " + name + ".", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads},
		}, h)
	}
	add("echo", true, func(_ context.Context, _ *sdk.CallToolRequest, a arguments) (*sdk.CallToolResult, any, error) {
		return said(a.Text), nil, nil
	})
	add("env", true, func(_ context.Context, _ *sdk.CallToolRequest, a arguments) (*sdk.CallToolResult, any, error) {
		return said(a.Text + "=" + os.Getenv(a.Text)), nil, nil
	})
	add("fail", false, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("the file is locked")
	})
	add("huge", true, func(_ context.Context, _ *sdk.CallToolRequest, a arguments) (*sdk.CallToolResult, any, error) {
		return said(strings.Repeat("x", a.N)), nil, nil
	})
	add("structured", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		return nil, map[string]any{"rows": []any{1, 2}}, nil
	})
	add("both", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		return said("two rows"), map[string]any{"rows": 2}, nil
	})
	add("pictures", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "look:"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&sdk.ResourceLink{URI: "file:///a", Name: "a"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", Blob: []byte{1}, MIMEType: "x/y"}},
		}}, nil, nil
	})
	add("slow", true, func(ctx context.Context, _ *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	add("progress", true, func(ctx context.Context, r *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 3, Total: 10, Message: "half \u202eway",
		})
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return said("done"), nil, err
	})
	add("finish", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		close(finish)
		return said("finished"), nil, nil
	})
	add("die", false, func(_ context.Context, _ *sdk.CallToolRequest, a arguments) (*sdk.CallToolResult, any, error) {
		for range a.N { // slow calls that die with it
			<-waiting
		}
		fmt.Fprintln(os.Stderr, "out of memory, token s3cret-token")
		os.Exit(9) //nolint:forbidigo // here the test binary is another program
		return nil, nil, nil
	})
	add("hang", false, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-make(chan struct{}) // the signal may come a moment later
		return nil, nil, err
	})
	add("asks", true, func(ctx context.Context, r *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		return said(wishes(ctx, r.Session)), nil, nil
	})
	add("more", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		add("late", true, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
			return said("late"), nil, nil
		})
		return said("added"), nil, nil
	})
	return s
}

// wishes asks the client for everything that a server can ask for, and returns what came of it.
func wishes(ctx context.Context, s *sdk.ServerSession) string {
	_, sampled := s.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1}) //nolint:staticcheck // deprecated, and still asked for
	_, elicited := s.Elicit(ctx, &sdk.ElicitParams{Message: "your password?", RequestedSchema: map[string]any{"type": "object"}})
	_, roots := s.ListRoots(ctx, nil) //nolint:staticcheck // as above
	return fmt.Sprintf("sampling: %v; elicitation: %v; roots: %v", sampled, elicited, roots)
}

// runLister is a server by hand: it lists the tools in a file and answers calls with their arguments.
func runLister(file string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"l","version":"1"}}`
		case "tools/list":
			list, err := os.ReadFile(file)
			if err != nil {
				return 1
			}
			answer = `"result":` + string(bytes.ReplaceAll(list, []byte("\n"), nil))
		case "tools/call":
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":1}}`)
			answer = fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}]}`, m.Params)
		}
		fmt.Fprintf(os.Stdout, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, answer)
	}
	return errorCode(in.Err())
}

// programs starts the test binary as a server, unconfined. It remembers what it started.
type programs struct {
	t  *testing.T
	mu sync.Mutex
	// started are the processes, in order.
	started []*program
}

// Start implements Starter. The first argument is the kind of server.
func (s *programs) Start(_ context.Context, args, env []string) (Process, error) {
	p := &program{cmd: exec.Command(os.Args[0]), gone: make(chan struct{})}
	p.cmd.Env = append([]string{serve + "=" + strings.Join(args, " "), "GOCOVERDIR=" + s.t.TempDir()}, env...)
	p.cmd.Stderr = &p.errors
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, p)
	return p, nil
}

func (s *programs) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.started)
}

// program is a process without a sandbox.
type program struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	errors tail
	once   sync.Once
	gone   chan struct{}
}

func (p *program) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *program) Tail() string                { return p.errors.String() }

// Close implements Process.
func (p *program) Close() error {
	p.once.Do(func() {
		_ = p.in.Close()
		late := time.AfterFunc(500*time.Millisecond, func() { _ = p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		late.Stop()
		close(p.gone)
	})
	<-p.gone
	return nil
}

type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// stage is servers that are open, as a set of tools.
type stage struct {
	t       *testing.T
	starter *programs
	log     tail
	servers *Servers
	set     *tool.Set
}

func newStage(t *testing.T, servers map[string]spec.MCPServer, environ ...string) *stage {
	t.Helper()
	s := &stage{t: t, starter: &programs{t: t}}
	var err error
	s.servers, err = Open(t.Context(), servers, s.options(environ...))
	require.NoError(t, err)
	t.Cleanup(func() {
		s.servers.Close()
		for _, p := range s.starter.started {
			chantest.Next(t, p.gone)
		}
	})
	s.set, err = tool.NewSet(nil, nil, s.servers.Tools()...)
	require.NoError(t, err)
	return s
}

func (s *stage) options(environ ...string) Options {
	return Options{Starter: s.starter, Environ: environ, Start: 10 * time.Second, Log: zerolog.New(&s.log)}
}

// run calls a tool and returns its output or its error, or all of it as JSON where there is more.
func (s *stage) run(name, args string) string {
	s.t.Helper()
	return s.call(s.t.Context(), name, args)
}

func (s *stage) call(ctx context.Context, name, args string) string {
	var a map[string]any
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return err.Error()
	}
	r := s.set.Run(ctx, tool.Call{Name: name, Args: a})
	for _, key := range []string{"error", "output"} {
		if text, ok := r.Output[key].(string); ok && len(r.Output) == 1 {
			return text
		}
	}
	out, err := json.Marshal(r.Output)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func command(kind string) spec.MCPServer { return spec.MCPServer{Command: []string{kind}} }
