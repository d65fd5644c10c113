package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

func TestMain(m *testing.M) {
	// The model library's statistics start a worker when they are linked in, and offer no way to stop it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// place is one run, r1. It answers and does what a test wants.
type place struct {
	mu     sync.Mutex
	log    []dashboard.Batch
	more   chan struct{}
	active bool
	// reads is closed when the log is read first.
	reads  chan struct{}
	tailed sync.Once

	report    view.Report
	decisions []view.Decision
	shows     map[string]any
	acts      []did
	works     []Work
	fails     error
	actFails  error
	// lastFails is what the next question for the end of the log is answered with, once.
	lastFails error
}

func newPlace() *place {
	return &place{active: true, more: make(chan struct{}), reads: make(chan struct{}), shows: map[string]any{}}
}

// add adds what a log has had appended since.
func (p *place) add(l *runtest.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range l.Events[len(p.log):] {
		p.log = append(p.log, dashboard.Batch{Pos: e.Pos, Events: []contextscope.Event{e}})
	}
	close(p.more)
	p.more = make(chan struct{})
}

// leave ends the process of the run.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = false
	close(p.more)
	p.more = make(chan struct{})
}

func (p *place) List(context.Context) ([]string, error) { return []string{"r1"}, nil }

func (p *place) Stand(context.Context, string) (dashboard.Standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active {
		return dashboard.Standing{Mark: "active", Active: true}, nil
	}
	return dashboard.Standing{Mark: "ended", Row: view.RowIn("r1", "killed", &p.report)}, nil
}

func (p *place) Open(context.Context, string) (dashboard.Run, error) { return p, nil }

func (p *place) Close() error { return nil }

func (p *place) Last(context.Context) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.lastFails; err != nil {
		p.lastFails = nil
		return 0, err
	}
	if len(p.log) == 0 {
		return 0, nil
	}
	return p.log[len(p.log)-1].Pos, nil
}

func (p *place) Tail(ctx context.Context, from uint64) iter.Seq2[dashboard.Batch, error] {
	return func(yield func(dashboard.Batch, error) bool) {
		p.tailed.Do(func() { close(p.reads) })
		for next := 0; ; {
			p.mu.Lock()
			batches, more, active := p.log[next:], p.more, p.active
			p.mu.Unlock()
			for _, b := range batches {
				next++
				if b.Pos > from && !yield(b, nil) {
					return
				}
			}
			if !active {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
		}
	}
}

func (p *place) Decisions(context.Context, string) ([]view.Decision, error) {
	return p.decisions, p.fails
}

func (p *place) Show(_ context.Context, q dashboard.Query) (json.RawMessage, error) {
	if q.What == dashboard.ShowReport {
		return spec.JSON(p.report)
	}
	if p.fails != nil {
		return nil, p.fails
	}
	return spec.JSON(p.shows[q.What])
}

// did is an act of a client.
type did struct {
	run, by string
	act.Args
}

func (p *place) Act(_ context.Context, run, by string, a act.Args) (dashboard.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acts = append(p.acts, did{run, by, a})
	return dashboard.Outcome{Outcome: a.Act() + " is done"}, errors.Join(p.fails, p.actFails)
}

// served serves a place to the SDK's client until the test ends.
func served(t *testing.T, p *place, acts bool) *sdk.ClientSession {
	t.Helper()
	return connected(t, newServer(p, acts))
}

// connected serves the SDK's client until the test ends.
func connected(t *testing.T, s *Server) *sdk.ClientSession {
	t.Helper()
	return joined(t, s, "", nil)
}

// joined serves a client with a version of the protocol and options until the test ends.
func joined(t *testing.T, s *Server, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	mine, theirs := pipes()
	over := make(chan error, 1)
	go func() { over <- s.Serve(context.Background(), mine.in, mine.out) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "an \x1b[31meditor", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: theirs.in, Writer: theirs.out},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		require.NoError(t, chantest.Next(t, over))
	})
	return session
}

func newServer(p *place, acts bool) *Server {
	return New(Options{
		Runs: p, Controller: p, Acts: acts, ToAct: "act --now", Person: "ana", Version: "v1", Logger: zerolog.Nop(),
		Words: func(err error) string { return err.Error() + " (worded)" },
		Calls: func(s string) string { return strings.Replace(s, "divisi ", "divisi --state-dir s ", 1) },
		Preview: func(_ context.Context, w Work) (Preview, error) {
			return Preview{
				Gates: []Gate{{Gate: "ok", Command: []string{"true"}}}, Setup: []string{"npm", "ci"}, Refused: []string{"no key"},
				Plan: json.RawMessage(fmt.Sprintf(`{"by":"file","tasks":[{"id":"a","role":"generator","brief":%q}]}`, w.Plan)), Trusted: true,
			}, nil
		},
		Start: func(_ context.Context, w Work) (string, error) {
			p.works = append(p.works, w)
			return "r2", p.fails
		},
	})
}

// pipe is one end of a connection.
type pipe struct {
	in  *io.PipeReader
	out *io.PipeWriter
}

func pipes() (mine, theirs pipe) {
	a, b := io.Pipe()
	c, d := io.Pipe()
	return pipe{a, d}, pipe{c, b}
}

// call calls a tool, and returns the text of its answer.
func call(t *testing.T, s *sdk.ClientSession, tool string, args any) (said string, refused bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	require.Len(t, r.Content, 1)
	text, ok := r.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	return text.Text, r.IsError
}

// answered calls a tool that answers, and reads the answer.
func answered[T any](t *testing.T, s *sdk.ClientSession, tool string, args any) (out T) {
	t.Helper()
	said, refused := call(t, s, tool, args)
	require.False(t, refused, said)
	require.NoError(t, json.Unmarshal([]byte(said), &out))
	return out
}

func names(t *testing.T, s *sdk.ClientSession) (out []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		require.NoError(t, err)
		require.NotEmpty(t, tool.Description)
		require.NotNil(t, tool.OutputSchema)
		out = append(out, tool.Name)
	}
	slices.Sort(out)
	return out
}

// begun is a run with a task whose patch is held.
func begun(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Run: "r1", Base: "b", Roles: runtest.Roles(), Parallel: 4, Plan: &spec.Plan{}, OnDoubt: run.OnDoubtAsk}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator", Files: []string{"a.go"}}, spec.Task{ID: "b", Role: "generator", Files: []string{"b.go"}})
	return l
}

func hold(l *runtest.Log, task string) {
	l.Dispatched(task, "generator", 1, "b")
	l.Ended(task, 1, runtest.Patched("c-"+task, "tree", "b"))
	l.Append(task, run.TaskData{State: run.TaskHeld, Reason: "fewer tests", Doubt: &run.Doubt{Evidence: []string{"fewer tests"}}})
}
