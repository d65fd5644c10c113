package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/page"
)

// seen is what a client took from a stream: only whole server-sent events count, as in a browser.
type seen struct {
	ids []string
	// first and last are the positions of the first and of the newest line; 0 before any came.
	first, last uint64
}

// take reads until the stream breaks or enough events came.
func (c *seen) take(t testing.TB, body io.Reader, enough int) {
	t.Helper()
	r := bufio.NewReader(body)
	var pos uint64
	view := false
	for len(c.ids) < enough {
		line, err := r.ReadString('\n')
		require.NotErrorIs(t, err, context.DeadlineExceeded, "after %d events", len(c.ids))
		if err != nil {
			return
		}
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			pos, err = strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			require.NoError(t, err)
		}
		view = view && line != "\n" || line == "event: view\n"
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || view {
			continue
		}
		if end, err := r.ReadString('\n'); err != nil || end != "\n" {
			return
		}
		c.lines(t, pos, data)
	}
}

func (c *seen) lines(t testing.TB, pos uint64, data string) {
	t.Helper()
	var lines []logLine
	require.NoError(t, json.Unmarshal([]byte(data), &lines))
	at := c.last + 1
	for _, l := range lines {
		require.GreaterOrEqual(t, l.Pos, at, "positions rise, and no batch is in two messages")
		at = l.Pos
		c.ids = append(c.ids, l.ID)
	}
	require.Equal(t, pos, at, "the id is the position of the last batch")
	if c.first == 0 {
		c.first = lines[0].Pos
	}
	c.last = pos
}

// all reads streams until enough events came, each from where the one before broke, and returns how many broke.
func (c *seen) all(t testing.TB, s *Server, enough int) (broken int) {
	t.Helper()
	for broken = -1; len(c.ids) < enough; broken++ {
		res := get(t, data(s)+"events?after=0", http.Header{"Last-Event-ID": {strconv.FormatUint(c.last, 10)}})
		require.Equal(t, http.StatusOK, res.StatusCode)
		c.take(t, res.Body, enough)
		require.NoError(t, res.Body.Close())
	}
	return broken
}

// read opens a stream behind a position and reads n events; the stream stays open.
func read(t testing.TB, s *Server, after uint64, n int) io.Closer {
	t.Helper()
	res := get(t, data(s)+"events", http.Header{"Last-Event-ID": {strconv.FormatUint(after, 10)}})
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	c := &seen{}
	c.take(t, res.Body, n)
	require.Len(t, c.ids, n)
	return res.Body
}

// TestReconnect breaks the connection fifty times, anywhere in a frame, in a live stream of five thousand events.
func TestReconnect(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"all in memory": defaultMemory, "mostly read again": 20_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog()
			log.bulk(0, 1000)
			var cuts *cutter
			s := start(t, log, func(s *Server) {
				s.opts.Memory = memory
				cuts = cutting(s, 50, 30_000)
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				log.bulk(1000, 5000)
			}()
			c := &seen{}
			require.Equal(t, 50, c.all(t, s, 5000))
			chantest.Next(t, done)
			same(t, log.ids(), c.ids)
			require.Zero(t, cuts.remaining())
		})
	}
}

// TestOneTailer: many browsers, one reader of the log.
func TestOneTailer(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 100)
	s := start(t, log, nil)
	for range 20 {
		defer func(c io.Closer) { require.NoError(t, c.Close()) }(read(t, s, 0, 100))
	}
	require.Equal(t, 1, log.reads())
}

func TestLogThatFailsIsReadOn(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 30)
	log.failOnce(errors.New("the store is busy"))
	s := start(t, log, nil)
	require.NoError(t, read(t, s, 0, 30).Close())
	require.Equal(t, 2, log.reads())
}

// TestSlowBrowser does not read: it is dropped, no other browser waits for it, and it loses nothing.
func TestSlowBrowser(t *testing.T) {
	t.Parallel()
	log := newLog()
	for i := range 200 {
		e := numbered(i)
		e.ID += strings.Repeat("x", 100_000)
		log.add(e)
	}
	dropped := make(chan uint64, 1000)
	s := start(t, log, func(s *Server) {
		s.writeLimit = time.Second
		s.testDropped = func(pos uint64) { dropped <- pos }
	})
	slow, other := get(t, data(s)+"events", nil), &seen{}
	for range other.all(t, s, 200) + 1 { // on a busy machine the other one is too slow now and then too
		chantest.Next(t, dropped)
	}
	same(t, log.ids(), other.ids)
	c := &seen{}
	c.take(t, slow.Body, 200)
	require.Less(t, len(c.ids), 200)
	c.all(t, s, 200)
	same(t, log.ids(), c.ids)
}

// same compares long lists without printing them.
func same(t *testing.T, want, got []string) {
	t.Helper()
	require.True(t, slices.Equal(want, got),
		"want %d ids, got %d, the first difference is at %d", len(want), len(got), differ(want, got))
}

func differ(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestRefusedStreams(t *testing.T) {
	t.Parallel()
	s := start(t, newLog(), nil)
	require.Equal(t, http.StatusBadRequest, get(t, data(s)+"events", http.Header{"Last-Event-Id": {"x"}}).StatusCode)
	require.Equal(t, http.StatusBadRequest, get(t, data(s)+"events?after=-1", nil).StatusCode)
	require.Equal(t, http.StatusNotFound, get(t, base(s)+"api/v1/runs/r2/events", nil).StatusCode)
}

// TestHubForgets keeps its memory bounded and reports what it has forgotten.
func TestHubForgets(t *testing.T) {
	t.Parallel()
	h := newHub(100)
	for pos := uint64(2); pos <= 40; pos += 2 {
		h.add(frame{pos: pos, data: make([]byte, 10)})
		h.add(frame{pos: pos, data: make([]byte, 10)}) // the same again is passed over
	}
	require.LessOrEqual(t, h.bytes, 100)
	require.EqualValues(t, 40, h.last())
	_, _, ok := h.after(18, 9)
	require.False(t, ok)
	for after, want := range map[uint64]int{20: 10, 21: 10, 38: 1, 40: 0, 99: 0} {
		frames, _, ok := h.after(after, 99)
		require.True(t, ok, "%d", after)
		require.Len(t, frames, want, "%d", after)
	}
	frames, changed, _ := h.after(20, 3)
	require.Len(t, frames, 3)
	h.add(frame{pos: 41, data: make([]byte, 1000)})
	chantest.Next(t, changed)
	frames, _, ok = h.after(40, 9)
	require.True(t, ok)
	require.Len(t, frames, 1, "the newest always stays")
	require.EqualValues(t, 40, h.behind(9))
	h.pass(50)
	require.EqualValues(t, 50, h.behind(9))
	_, _, ok = h.after(49, 9)
	require.False(t, ok, "what was passed over is read from the log")
}

// TestMemoryIsShared: runs that browsers show divide the memory of lines, another run keeps what a page begins with.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	s, err := New(options(newLog()))
	require.NoError(t, err)
	for i := range 6 {
		id := string(rune('a' + i))
		s.rooms[id] = newRoom(id, s.opts.Runs, s.opts.Controller, s.opts.Memory, s.opts.Logger)
	}
	leave := s.rooms["a"].watch()
	s.share()
	require.Equal(t, defaultMemory, s.rooms["a"].hub.limit)
	require.Equal(t, restMemory, s.rooms["b"].hub.limit)
	leave()
	for _, one := range s.rooms {
		defer one.watch()()
	}
	s.share()
	require.Equal(t, defaultMemory*allMemory/6, s.rooms["a"].hub.limit)
}

// TestBrokenDataIsSent: an event with data that is no JSON keeps its place.
func TestBrokenDataIsSent(t *testing.T) {
	t.Parallel()
	good, broken := numbered(1), numbered(2)
	broken.Data = json.RawMessage("{oops")
	sent := eventOf([]frame{encode(Batch{Pos: 7, Events: []contextscope.Event{good, broken}})})
	require.Equal(t, 3, bytes.Count(sent, []byte("\n")), "one line of data")
	c := &seen{}
	c.take(t, bytes.NewReader(sent), 2)
	require.Equal(t, []string{good.ID, broken.ID}, c.ids)
	require.Equal(t, "{oops", string(broken.Data), "the log's own is not touched")
}

func FuzzEncode(f *testing.F) {
	f.Add("id", "text\nwith\r\u2028lines", `{"a":1}`)
	f.Fuzz(func(t *testing.T, id, role, data string) {
		e := contextscope.Event{ID: id, Role: role, Kind: "progress", Data: json.RawMessage(data)}
		sent := eventOf([]frame{encode(Batch{Pos: 9, Events: []contextscope.Event{e}})})
		require.Equal(t, 3, bytes.Count(sent, []byte("\n")), "nothing in an event can end its frame")
		require.Zero(t, bytes.Count(sent, []byte("\r")))
	})
}

// views reads the views of a stream until one is as wanted, and returns them.
func views(t *testing.T, body io.Reader, wanted func(page.Run) bool) []page.Run {
	t.Helper()
	var out []page.Run
	r := bufio.NewReader(body)
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err, "after %d views", len(out))
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var v page.Run
		require.NoError(t, json.Unmarshal([]byte("{"+data), &v))
		if out = append(out, v); wanted(v) {
			return out
		}
	}
}

// TestViews: a browser gets the whole view when it connects, and then what changed.
func TestViews(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 255)
	s := start(t, log, func(s *Server) { s.viewPause = time.Millisecond })
	require.NoError(t, read(t, s, 0, 255).Close())
	first := views(t, get(t, data(s)+"events?after=9999", nil).Body, func(page.Run) bool { return true })[0]
	require.Equal(t, run.Running, first.State)
	require.Len(t, first.Tasks, 15, "fourteen and the master")

	stream := get(t, data(s)+"events?after=9999", nil).Body
	end := contextscope.Event{Run: "r1", Kind: contextscope.KindTask, Task: "log-web", Data: json.RawMessage(`{"state":"parked","reason":"x"}`)}
	_ = views(t, stream, func(page.Run) bool { return true })
	log.add(end)
	last := views(t, stream, func(v page.Run) bool { return len(v.Tasks) > 0 })
	require.Equal(t, []string{"log-web"}, ids(last[len(last)-1].Tasks), "only the row that changed")
	require.NotEmpty(t, first.Series)
	require.Empty(t, last[len(last)-1].Series, "there is no point more")
}

// TestLastView: the end of a run is shown also where the server stops with it.
func TestLastView(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 255)
	s := start(t, log, func(s *Server) { s.viewPause = time.Hour })
	stream := get(t, data(s)+"events", nil).Body
	_ = views(t, stream, func(page.Run) bool { return true })
	log.add(contextscope.Event{Run: "r1", Kind: contextscope.KindRun, Data: json.RawMessage(`{"state":"done"}`)})
	c := &seen{}
	c.take(t, get(t, data(s)+"events", nil).Body, 256)
	require.Len(t, c.ids, 256, "the server has the end")
	s.Stop()
	require.Equal(t, run.Done, views(t, stream, func(v page.Run) bool { return v.Ended > 0 || v.State == run.Done })[0].State)
}

func ids(tasks []page.TaskRow) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.ID
	}
	return out
}
