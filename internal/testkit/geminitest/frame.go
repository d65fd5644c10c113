package geminitest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Frame is shared by this server and that of chattest: it listens for the length of a test, remembers breaches, and writes
// answers, which may be late, stream and break off. It is safe for concurrent use.
type Frame struct {
	// URL is where it listens.
	URL string

	closing    chan struct{}
	once       sync.Once
	mu         sync.Mutex
	violations []Violation
}

// NewFrame makes a frame without a listener.
func NewFrame() *Frame { return &Frame{closing: make(chan struct{})} }

// Listen serves on a loopback port for the length of a test. When the test ends the server, whose name the failure has, must
// have seen no violations, unless it is lenient.
func (f *Frame) Listen(t testing.TB, h http.Handler, name string, lenient bool) {
	t.Helper()
	s := httptest.NewServer(h)
	f.URL = s.URL
	t.Cleanup(func() {
		f.Close()
		s.CloseClientConnections()
		s.Close()
		if v := f.Violations(); len(v) > 0 && !lenient {
			t.Errorf("the fake %s server saw violations: %+v", name, v)
		}
	})
}

// Close ends the answers that hang or wait.
func (f *Frame) Close() { f.once.Do(func() { close(f.closing) }) }

// Violations are the breaches so far.
func (f *Frame) Violations() []Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.violations)
}

// Violate remembers a breach.
func (f *Frame) Violate(req *Request, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.violations = append(f.violations, Violation{Task: req.Task, Attempt: req.Attempt, Turn: req.Turn, Reason: reason})
}

// Outgoing is sent to the client: a JSON document, or the events of a stream where there is none.
type Outgoing struct {
	Status int
	Header map[string]string
	Body   []byte
	Events [][]byte
	// First is the time to the first byte, Between that between events.
	First, Between time.Duration
	End            End
}

// Send writes an answer.
func (f *Frame) Send(ctx context.Context, w http.ResponseWriter, o Outgoing) {
	if !f.wait(ctx, o.First) {
		return
	}
	for name, value := range o.Header {
		w.Header().Set(name, value)
	}
	if o.Body != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(o.Status)
		write(w, o.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(o.Status)
	for i, event := range o.Events {
		if i > 0 && !f.wait(ctx, o.Between) {
			return
		}
		write(w, event)
	}
	switch o.End {
	case EndCut:
		panic(http.ErrAbortHandler)
	case EndHang:
		f.wait(ctx, time.Duration(1<<62))
	case EndClean:
	}
}

// wait returns false when the client or the server is gone first.
func (f *Frame) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-f.closing:
	}
	return false
}

func write(w http.ResponseWriter, data []byte) {
	if _, err := w.Write(data); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
