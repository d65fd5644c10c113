package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// editor is a client of the Model Context Protocol that a script has started, with its server.
type editor struct {
	*mcp.ClientSession

	server *exec.Cmd
	logged *job
	// says are the answers of its person to the questions of forms, in order; shown has the questions.
	mu    sync.Mutex
	says  []string
	shown []string
}

// editors are those of all scripts, by script and name.
var editors sync.Map

type editorKey struct {
	ts   *testscript.TestScript
	name string
}

func editorOf(ts *testscript.TestScript, name string) *editor {
	a, ok := editors.Load(editorKey{ts, name})
	if !ok {
		ts.Fatalf("no editor is connected as %s", name)
	}
	return a.(*editor) //nolint:forcetypeassert // connect stores it
}

// asks answers a form as the next of the editor's answers has it: yes, no, decline, cancel, or leave, which ends the connection.
func (a *editor) asks(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	a.shown = append(a.shown, req.Params.Message)
	if len(a.says) == 0 {
		a.mu.Unlock()
		return nil, errors.New("there is no person")
	}
	say := a.says[0]
	a.says = a.says[1:]
	a.mu.Unlock()
	switch say {
	case "yes", "no":
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": say}}, nil
	case "leave":
		_ = a.server.Process.Kill()
		return nil, errors.New("the editor is gone")
	}
	return &mcp.ElicitResult{Action: say}, nil
}

// asked: asked NAME prints the questions that an editor has shown, and forgets them.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	a := editorOf(ts, args[0])
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := ts.Stdout().Write([]byte(strings.Join(a.shown, "\n")))
	ts.Check(err)
	a.shown = nil
}

// connect: connect NAME[:ANSWER…][@VERSION] [args…] starts divisi mcp, as an editor does, and connects the SDK's client to it, which
// calls itself NAME. With answers it can show forms, and its person gives these; VERSION is that of the protocol.
func connect(ts *testscript.TestScript, _ bool, args []string) {
	path := "divisi"
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, "divisi")); err == nil {
			path = found
			break
		}
	}
	a := &editor{server: exec.Command(path, append([]string{"mcp"}, args[1:]...)...), logged: &job{changed: make(chan struct{})}}
	a.server.Dir, a.server.Env, a.server.Stderr = ts.MkAbs("."), environment(ts), a.logged
	a.server.WaitDelay = time.Second // a run that it started must not hold the pipe
	as, version, _ := strings.Cut(args[0], "@")
	name, answers, person := strings.Cut(as, ":")
	var o mcp.ClientOptions
	if person {
		a.says, o.ElicitationHandler = strings.Split(answers, ":"), a.asks
	}
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &o)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: a.server},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	ts.Check(err)
	a.ClientSession = session
	editors.Store(editorKey{ts, name}, a)
	ts.Defer(func() { _ = a.Close() })
}

// ask: ask NAME TOOL ARGUMENTS PATTERN calls a tool until the answer matches; the first group of the pattern is $FOUND then. With
// ! it calls once, and the call must be refused with words that match.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	a, pattern := editorOf(ts, args[0]), regexp.MustCompile(args[3])
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for last := ""; ; {
		r, err := a.CallTool(ctx, &mcp.CallToolParams{Name: args[1], Arguments: json.RawMessage(args[2])})
		if err != nil {
			ts.Fatalf("%s %s fails: %v; the answer before was:\n%s", args[1], args[2], err, last)
		}
		said := words(r)
		last = said
		m := pattern.FindStringSubmatch(said)
		if len(m) > 1 {
			ts.Setenv("FOUND", m[1])
		}
		if neg != r.IsError || neg && m == nil || ctx.Err() != nil {
			ts.Fatalf("%s %s answers (refused: %t):\n%s", args[1], args[2], r.IsError, said)
		}
		if m != nil {
			_, err := ts.Stdout().Write([]byte(said))
			ts.Check(err)
			return
		}
	}
}

// gone: gone NAME TOOL ARGUMENTS calls a tool, and the connection must end before it answers.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := editorOf(ts, args[0]).CallTool(ctx, &mcp.CallToolParams{Name: args[1], Arguments: json.RawMessage(args[2])})
	if err == nil || ctx.Err() != nil {
		ts.Fatalf("the connection has not ended: %v %v", r, ctx.Err())
	}
}

func words(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// offered: offered NAME prints the names of the tools that a server offers, in a line each.
func offered(ts *testscript.TestScript, _ bool, args []string) {
	for tool, err := range editorOf(ts, args[0]).Tools(context.Background(), nil) {
		ts.Check(err)
		_, err = ts.Stdout().Write([]byte(tool.Name + "\n"))
		ts.Check(err)
	}
}

// leave: leave NAME closes the connection as an editor does, and the server must end in order. leave NAME KILL kills the server.
func leave(ts *testscript.TestScript, _ bool, args []string) {
	a := editorOf(ts, args[0])
	if len(args) > 1 {
		ts.Check(a.server.Process.Kill())
		_ = a.Close()
		return
	}
	if err := a.Close(); err != nil {
		out, _ := a.logged.output()
		ts.Fatalf("the server of %s ended with %v:\n%s", args[0], err, out)
	}
}
