package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/contextscope"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// The model library's statistics start a worker when they are linked in, and offer no way to stop it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// memoryLog is a log in memory. It counts how often it is read.
type memoryLog struct {
	mu      sync.Mutex
	batches []Batch
	more    chan struct{}
	tails   int
	fail    error
}

func newLog() *memoryLog { return &memoryLog{more: make(chan struct{})} }

func (l *memoryLog) add(events ...contextscope.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pos := uint64(3) // positions have gaps
	if n := len(l.batches); n > 0 {
		pos = l.batches[n-1].Pos + 1 + pos%uint64(n%3+1)
	}
	l.batches = append(l.batches, Batch{Pos: pos, Events: events})
	close(l.more)
	l.more = make(chan struct{})
}

func (l *memoryLog) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batches[len(l.batches)-1].Pos
}

func (l *memoryLog) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, b := range l.batches {
		for _, e := range b.Events {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func (l *memoryLog) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tails
}

// failOnce lets the next sequence end with an error at its beginning.
func (l *memoryLog) failOnce(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

func (l *memoryLog) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tails++
	err := l.fail
	l.fail = nil
	return err
}

func (l *memoryLog) Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if err := l.begin(); err != nil {
			yield(Batch{}, err)
			return
		}
		for next := 0; ; {
			l.mu.Lock()
			batches, more := l.batches[next:], l.more
			l.mu.Unlock()
			for _, b := range batches {
				next++
				if b.Pos > from && !yield(b, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
		}
	}
}

// torn is a log at rest that ends before its newest message, which is lost.
type torn struct{ *memoryLog }

func (l torn) Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for b, err := range l.memoryLog.Tail(ctx, from) {
			if !yield(b, err) || b.Pos == l.last() {
				return
			}
		}
	}
}

// bulk adds the small events from one number up to another, one to three in a batch.
func (l *memoryLog) bulk(from, to int) {
	for size := 1; from < to; size = size%3 + 1 {
		var events []contextscope.Event
		for ; from < to && len(events) < size; from++ {
			events = append(events, numbered(from))
		}
		l.add(events...)
	}
}

func numbered(i int) contextscope.Event {
	task := fmt.Sprintf("task-%d", i%40)
	return contextscope.Event{
		V: 1, ID: fmt.Sprintf("e%05d", i), Run: "r1", Task: task, Attempt: 1, Agent: task + "/1",
		Role: "generator", Time: time.Unix(1_770_000_000+int64(i), 0).UTC(), Kind: contextscope.KindProgress,
		Data: json.RawMessage(fmt.Sprintf(`{"doing":"step %d of the work"}`, i)),
	}
}

// sampleLog is the console's sample run, up to limit events.
func sampleLog(t testing.TB, limit int) *memoryLog {
	t.Helper()
	raw, err := os.ReadFile("../console/testdata/sample.jsonl")
	require.NoError(t, err)
	l := newLog()
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for i := 0; lines.Scan() && i < limit; i++ {
		var e contextscope.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		l.add(e)
	}
	require.NoError(t, lines.Err())
	return l
}

// place is one run, r1, with a log in memory. It answers and does what a test wants.
type place struct {
	Log

	mu sync.Mutex
	// ended is the row of the run once no process has it.
	ended *view.Row
	acts  []did
	// fails is why nothing can be shown or done.
	fails error
}

func (p *place) List(context.Context) ([]string, error) { return []string{"r1"}, nil }

func (p *place) Stand(context.Context, string) (Standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return Standing{Mark: "ended", Row: *p.ended}, nil
	}
	return Standing{Mark: "active", Active: true}, nil
}

func (p *place) Open(context.Context, string) (Run, error) { return p, nil }

func (p *place) Last(context.Context) (uint64, error) {
	switch l := p.Log.(type) {
	case torn:
		return l.last() + 1, nil
	case *memoryLog:
		if len(l.ids()) > 0 {
			return l.last(), nil
		}
	}
	return 0, nil
}

func (p *place) Close() error { return nil }

func (p *place) Decisions(context.Context, string) ([]view.Decision, error) { return nil, p.fails }

func (p *place) Show(_ context.Context, q Query) (json.RawMessage, error) {
	return json.Marshal(fmt.Sprintf("%+v", q))
}

// did is an act of a visitor.
type did struct {
	Run, By string
	act.Args
}

func (p *place) Act(_ context.Context, run, by string, a act.Args) (Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acts = append(p.acts, did{run, by, a})
	out := Outcome{Outcome: a.Act() + " is done"}
	if held, is := a.(act.Held); is {
		out.Held = []string{heldID(held.Args)}
	}
	return out, p.fails
}

// heldID is the id under which a run holds an act back.
func heldID(a act.Args) string {
	if d, is := a.(act.Decide); is {
		return d.Decision
	}
	return "held-1"
}

// options are those of a server of one run.
func options(log Log) Options {
	p := &place{Log: log}
	return Options{Runs: p, Controller: p, Owner: Visitor{Name: "ana", Writes: true, Raw: true}, Logger: zerolog.Nop()}
}

// start runs a server until the test ends; change may alter it before it starts.
func start(t testing.TB, log Log, change func(*Server)) *Server {
	t.Helper()
	s, err := New(options(log))
	require.NoError(t, err)
	if change != nil {
		change(s)
	}
	require.NoError(t, s.Start(context.Background()))
	t.Cleanup(s.Stop)
	know(s)
	return s
}

// cookies are those of the servers of these tests, by address.
var cookies sync.Map

func know(s *Server) {
	browser, _ := s.sessions.admit(s.sessions.link(s.opts.Owner, 0))
	cookies.Store(base(s), &http.Cookie{Name: s.cookie, Value: browser})
}

// base is the address of the page without its token, data that of its run.
func base(s *Server) string { return s.Address() + "/" }
func data(s *Server) string { return base(s) + "api/v1/runs/r1/" }

// cutter is a listener whose first connections break in the middle of what they send, as a failing network does.
type cutter struct {
	net.Listener
	mu   sync.Mutex
	rng  *rand.Rand
	left int // connections still to cut
	most int // bytes before the cut
}

func cutting(s *Server, times, most int) *cutter {
	c := &cutter{rng: rand.New(rand.NewPCG(1, 2)), left: times, most: most}
	s.listen = func(ctx context.Context, addr string) (net.Listener, error) {
		l, err := listenTCP(ctx, addr)
		c.Listener = l
		return c, err
	}
	return c
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

// take says after how many bytes of a stream to cut; 0 for never.
func (c *cutter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return 0
	}
	c.left--
	return 1500 + c.rng.IntN(c.most)
}

func (c *cutter) remaining() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

type cutConn struct {
	net.Conn
	cutter *cutter
	asked  bool
	after  int
	sent   int
}

// Write cuts event streams only, so that the page itself arrives.
func (c *cutConn) Write(p []byte) (int, error) {
	if !c.asked && bytes.Contains(p, []byte("text/event-stream")) {
		c.asked, c.after = true, c.cutter.take()
	}
	c.sent += len(p)
	if c.after == 0 || c.sent < c.after {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p[:max(0, len(p)-(c.sent-c.after))])
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetLinger(0))
	}
	return n, errors.Join(err, c.Close(), net.ErrClosed)
}

// client waits for all of an answer, but not for ever: a stream ends by itself only with its server.
func client() *http.Client {
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
}

func get(t testing.TB, url string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	if h := header.Get("Host"); h != "" {
		req.Host = h
	}
	if c, ok := cookies.Load("http://" + req.URL.Host + "/"); ok {
		req.AddCookie(c.(*http.Cookie))
	}
	res, err := client().Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, res.Body.Close()) })
	return res
}
