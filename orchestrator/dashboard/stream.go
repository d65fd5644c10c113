package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// maxFrames is how many batches one message has at most, and maxMessage how many bytes, unless one batch has more.
const (
	maxFrames  = 256
	maxMessage = 64 << 10
)

// stream is one browser's connection to a run. It pulls from the hub and the board, so that a slow browser delays no other.
type stream struct {
	s   *Server
	of  *room
	w   http.ResponseWriter
	pos uint64
	// newest is how many batches a browser wants that has none; 0 for all behind pos.
	newest int
	// lines ticks when lines may be sent: what comes between two ticks is one message.
	lines *time.Ticker
	// views ticks when a view may be sent; version is the newest that was.
	views   *time.Ticker
	version uint64
	// admitted reports whether the browser still may read it.
	admitted func() bool
}

// errLeft reports that the session of a browser has ended.
var errLeft = errors.New("the browser is admitted no more")

// admittedTo returns what reports whether the browser of a request is still admitted. It looks once a second.
func admittedTo(r *http.Request) func() bool {
	v, _ := r.Context().Value(visitorKey{}).(visit) // the guard sets it
	var seen time.Time
	return func() bool {
		if now := time.Now(); now.Sub(seen) > time.Second {
			seen = now
			return v.admitted == nil || v.admitted()
		}
		return true
	}
}

// events streams views of the run, and the log behind the browser's last position, or its newest lines and what follows them.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	pos, newest, err := startAt(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	of, leave, err := s.watch(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer leave()
	defer s.tab()()
	w.Header().Set("Content-Type", "text/event-stream")
	st := &stream{s: s, of: of, w: w, pos: pos, newest: newest, admitted: admittedTo(r)}
	st.lines, st.views = time.NewTicker(linesPause), time.NewTicker(s.viewPause)
	defer st.lines.Stop()
	defer st.views.Stop()
	if err := st.run(r.Context()); err != nil {
		st.ended(r.Context(), err)
	}
}

// startAt returns the last position that the browser has seen: a reconnecting one sends it in a header. One that has seen
// nothing may ask for the newest batches alone.
func startAt(r *http.Request) (pos uint64, newest int, err error) {
	v, q := r.Header.Get("Last-Event-ID"), r.URL.Query()
	if v == "" {
		v = q.Get("after")
	}
	if v != "" {
		if pos, err = strconv.ParseUint(v, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("the last event's id %q is not a position in the log", v)
		}
		return pos, 0, nil
	}
	if v = q.Get("newest"); v != "" {
		if newest, err = strconv.Atoi(v); err != nil || newest < 1 {
			return 0, 0, fmt.Errorf("newest is a number of batches, from 1, not %q", v)
		}
	}
	return 0, newest, nil
}

// run writes until the browser leaves or the server stops.
func (st *stream) run(ctx context.Context) error {
	if err := st.write([]byte("retry: 250\n\n")); err != nil {
		return err
	}
	if st.newest > 0 {
		if err := st.of.whole(ctx); err != nil && ctx.Err() == nil {
			st.s.opts.Logger.Debug().Err(err).Msg("a browser waits for a log that cannot be read now")
		}
		st.pos = st.of.hub.behind(st.newest)
	}
	if err := st.view(); err != nil {
		return err
	}
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	for {
		frames, changed, ok := st.of.hub.after(st.pos, maxFrames)
		var err error
		switch {
		case !st.admitted():
			err = errLeft
		case !ok:
			err = st.reread(ctx)
		case len(frames) > 0:
			if err = st.send(frames); err == nil && st.pos == st.of.hub.last() {
				st.gather(ctx)
			}
		default:
			err = st.wait(ctx, changed, beat.C)
		}
		if err != nil {
			return err
		}
	}
}

// gather waits until more lines may be sent: a message for each batch of a busy run would keep the browser from all else.
func (st *stream) gather(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-st.lines.C:
	}
}

func (st *stream) wait(ctx context.Context, changed <-chan struct{}, beat <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), st.view()) // the server stops with the run, whose end the page is to show
	case <-changed:
		return nil
	case <-st.views.C:
		return st.view()
	case <-beat:
		return st.write([]byte(": keep-alive\n\n"))
	}
}

// reread sends from the log what the hub has forgotten.
func (st *stream) reread(ctx context.Context) error {
	var (
		kept  []frame
		bytes int
	)
	for f, err := range st.s.reread(ctx, st.of.id, st.pos) {
		if err != nil {
			return err
		}
		kept, bytes = append(kept, f), bytes+len(f.data)
		_, _, ok := st.of.hub.after(f.pos, 0)
		if !ok && bytes < maxMessage {
			continue
		}
		if err := st.send(kept); err != nil || ok {
			return err
		}
		kept, bytes = nil, 0
	}
	return errors.Join(ctx.Err(), errors.New("the log ended before the lines kept in memory"))
}

// view sends the newest view, unless the browser has it.
func (st *stream) view() error {
	data, version := st.of.board.after(st.version)
	if data == nil {
		return nil
	}
	st.version = version
	return st.write(data)
}

func (st *stream) send(frames []frame) error {
	select {
	case <-st.views.C:
		if err := st.view(); err != nil {
			return err
		}
	default:
	}
	last := frames[len(frames)-1].pos
	if err := st.write(eventOf(frames)); err != nil {
		return fmt.Errorf("send the batches up to %d: %w", last, err)
	}
	st.pos = last
	return nil
}

func (st *stream) write(data []byte) error {
	if err := st.s.deadline(st.w); err != nil {
		return err
	}
	if _, err := st.w.Write(data); err != nil {
		return err
	}
	return http.NewResponseController(st.w).Flush()
}

func (s *Server) deadline(w http.ResponseWriter) error {
	return http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.writeLimit))
}

// ended logs why a stream ended. A browser that did not read in time reconnects by itself and loses nothing.
func (st *stream) ended(ctx context.Context, err error) {
	if ctx.Err() != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	st.s.opts.Logger.Debug().Err(err).Uint64("pos", st.pos).Msg("a browser's stream ended")
	if st.s.testDropped != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		st.s.testDropped(st.pos)
	}
}
