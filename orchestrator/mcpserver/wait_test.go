package mcpserver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func TestWaitReturnsWhenSomethingNewNeedsAPerson(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	p.add(l)
	s := served(t, p, false)
	wait := func(after uint64, seconds int) waited {
		return answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, After: after, Seconds: seconds})
	}
	none := wait(0, 1)
	require.Equal(t, whyTime, none.Why)
	require.Equal(t, 2, none.Tasks)
	require.Equal(t, l.Pos, none.Position)

	later := make(chan waited, 1)
	go func() { later <- wait(none.Position, 60) }()
	hold(l, "a")
	p.add(l)
	held := chantest.Next(t, later)
	require.Equal(t, whyDecision, held.Why)
	require.Len(t, held.Decisions, 1)
	require.True(t, held.Decisions[0].New)

	require.Equal(t, whyDecision, wait(0, 60).Why, "it is open")
	had := wait(held.Position, 1)
	require.Equal(t, whyTime, had.Why, "it was open before")
	require.False(t, had.Decisions[0].New)

	hold(l, "b")
	p.add(l)
	both := wait(held.Position, 60)
	require.Equal(t, whyDecision, both.Why)
	require.Equal(t, []bool{false, true}, []bool{both.Decisions[0].New, both.Decisions[1].New})
}

func TestWaitReturnsWhenARunEnds(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	p.add(l)
	s := served(t, p, false)
	ends := make(chan waited, 1)
	go func() { ends <- answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60}) }() //nolint:testifylint // the test waits for it
	l.Append("a", run.TaskData{State: run.TaskDone})
	l.Append("", run.Data{State: run.Parked, Reason: "2 parked"})
	p.add(l)
	p.leave()
	out := chantest.Next(t, ends)
	require.Equal(t, []int{0, 1}, []int{out.Landed, out.Unchanged})
	require.Equal(t, whyEnded, out.Why)
	require.Equal(t, "parked", out.State)
	require.Equal(t, "2 parked", out.Reason)
}

// A run that stops because its gates prove nothing reports why, and what can be done about it; landing without proof comes last.
func TestWaitTellsWhyARunStopped(t *testing.T) {
	t.Parallel()
	p := newPlace()
	l := runtest.New(t, run.Spec{Run: "r1", Base: "b", Repo: "/r", Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Preflight)
	l.Append("", run.Data{Notices: []string{"go-test: go.sum is missing"}})
	l.Append("", run.Data{State: run.Stopped, Reason: "no gate"})
	p.add(l)
	p.leave()
	out := answered[waited](t, served(t, p, false), "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60})
	require.Equal(t, whyStopped, out.Why)
	require.Equal(t, []string{"go-test: go.sum is missing"}, out.Notices)
	require.Contains(t, out.Next[0].Command, "divisi --state-dir s init --repo /r")
	require.Contains(t, out.Next[len(out.Next)-1].Command, "resume r1 --allow-unverified")
}

func TestWaitTellsWhatARunDoes(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	l.Dispatched("a", "generator", 1, "b")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	p.add(l)
	out := answered[waited](t, served(t, p, false), "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 1})
	require.Equal(t, whyTime, out.Why)
	require.Len(t, out.Now, 1)
	require.Contains(t, out.Now[0], "a/1")
}

// A client that names a token is told of progress, in numbers that grow, and what agents do; another one is not.
func TestAClientThatWaitsIsToldOfProgress(t *testing.T) {
	t.Parallel()
	for _, version := range []string{before, answersByCall} {
		synctest.Test(t, func(t *testing.T) {
			p, l := newPlace(), begun(t)
			l.Dispatched("a", "generator", 1, "b")
			l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
			p.add(l)
			told := make(chan *sdk.ProgressNotificationParams, 100)
			s := joined(t, newServer(p, false), version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told <- r.Params },
			})
			params := &sdk.CallToolParams{Name: "wait", Arguments: waitFor{ofRun: ofRun{"r1"}, Seconds: 10}}
			begins := time.Now()
			_, err := s.CallTool(t.Context(), params)
			require.NoError(t, err)
			require.Empty(t, told)
			params.SetProgressToken("mine")
			r, err := s.CallTool(t.Context(), params)
			require.NoError(t, err)
			require.False(t, r.IsError)
			require.Equal(t, 20*time.Second, time.Since(begins))
			require.Len(t, told, 3)
			var last float64
			for range 3 {
				n := <-told
				require.Equal(t, "mine", n.ProgressToken)
				require.Greater(t, n.Progress, last)
				require.InDelta(t, 2, n.Total, 0)
				require.Contains(t, n.Message, "0 of 2 tasks landed; a/1")
				last = n.Progress
			}
		})
	}
}

func TestWaitReturnsWhenNoProcessHasTheRun(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.add(begun(t))
	p.leave()
	out := answered[waited](t, served(t, p, false), "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60})
	require.Equal(t, whyIdle, out.Why)
	require.Equal(t, "running", out.State)
}

// A run that has ended and continues, because tasks are tried again, is followed until its process is gone.
func TestWaitFollowsARunThatGoesOnAgain(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	l.Append("", run.Data{State: run.Stopped})
	p.add(l)
	s := served(t, p, false)
	ends := make(chan waited, 1)
	go func() { ends <- answered[waited](t, s, "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60}) }() //nolint:testifylint // the test waits for it
	l.Append("", run.Data{State: run.Running})
	hold(l, "a")
	p.add(l)
	require.Equal(t, whyDecision, chantest.Next(t, ends).Why)
}

// A process that ends between the opening of its log and the first reading of it is no failure of the call: the log is opened again.
func TestWaitOpensALogAgainWhoseProcessHasJustEnded(t *testing.T) {
	t.Parallel()
	p, l := newPlace(), begun(t)
	hold(l, "a")
	p.add(l)
	p.lastFails = bus.ErrNoOwner
	out := answered[waited](t, served(t, p, false), "wait", waitFor{ofRun: ofRun{"r1"}, Seconds: 60})
	require.Equal(t, whyDecision, out.Why)
}

// A client that reads no answer does not keep a server that is told to end, or whose client has said all.
func TestAServerEndsThoughItsClientReadsNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel func(), theirs pipe){
		"closed": func(_ func(), theirs pipe) { _ = theirs.out.Close() }, "told": func(cancel func(), _ pipe) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine, theirs := pipes()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			over := make(chan error, 1)
			go func() { over <- newServer(newPlace(), true).Serve(ctx, mine.in, mine.out) }()
			_, err := theirs.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
				`"capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}` + "\n"))
			require.NoError(t, err)
			one := make([]byte, 1)
			_, err = theirs.in.Read(one) // the answer is being written
			require.NoError(t, err)
			end(cancel, theirs)
			select {
			case err := <-over:
				require.Equal(t, name == "told", errors.Is(err, context.Canceled), "%v", err)
			case <-time.After(30 * time.Second):
				require.Fail(t, "the server goes on")
			}
			require.NoError(t, theirs.in.Close())
			require.NoError(t, theirs.out.Close())
		})
	}
}

func TestNoMoreCallsAreBegunThanAreAllowed(t *testing.T) {
	t.Parallel()
	p := newPlace()
	s := served(t, p, false)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range maxCalls {
		calls.Go(func() {
			_, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "wait", Arguments: waitFor{ofRun: ofRun{"r1"}, Seconds: 300}}) // it is cut
		})
	}
	require.Eventually(t, func() bool {
		said, refused := call(t, s, "runs", map[string]any{})
		return refused && strings.Contains(said, "32 calls are under way, and no more are begun")
	}, 30*time.Second, 10*time.Millisecond)
	cancel()
	calls.Wait()
	require.Eventually(t, func() bool {
		_, refused := call(t, s, "runs", map[string]any{})
		return !refused
	}, 30*time.Second, 10*time.Millisecond)
}
