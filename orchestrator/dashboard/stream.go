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

// replayChunk is how many frames are written between two flushes while a browser catches up.
const replayChunk = 256

// stream is one browser's connection to a run. It pulls from the hub and the board, so that a slow browser delays no other.
type stream struct {
	s   *Server
	of  *room
	w   http.ResponseWriter
	pos uint64
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

// events streams views of the run, and the log behind the browser's last position: one server-sent event a batch.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	pos, err := startAt(r)
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
	st := &stream{s: s, of: of, w: w, pos: pos, admitted: admittedTo(r), views: time.NewTicker(s.viewPause)}
	defer st.views.Stop()
	if err := st.run(r.Context()); err != nil {
		st.ended(r.Context(), err)
	}
}

// startAt returns the last position that the browser has seen: a reconnecting one sends it in a header.
func startAt(r *http.Request) (uint64, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		v = r.URL.Query().Get("after")
	}
	if v == "" {
		return 0, nil
	}
	pos, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the last event's id %q is not a position in the log", v)
	}
	return pos, nil
}

// run writes until the browser leaves or the server stops.
func (st *stream) run(ctx context.Context) error {
	if err := errors.Join(st.write([]byte("retry: 250\n\n")), st.view()); err != nil {
		return err
	}
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	for {
		frames, changed, ok := st.of.hub.after(st.pos, replayChunk)
		var err error
		switch {
		case !st.admitted():
			err = errLeft
		case !ok:
			err = st.reread(ctx)
		case len(frames) > 0:
			err = st.send(frames)
		default:
			err = st.wait(ctx, changed, beat.C)
		}
		if err != nil {
			return err
		}
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

// reread takes from the log what the hub has forgotten.
func (st *stream) reread(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened, err := st.s.opts.Runs.Open(ctx, st.of.id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	for b, err := range opened.Tail(ctx, st.pos) {
		if err != nil {
			return fmt.Errorf("read the log of run %s after %d again: %w", st.of.id, st.pos, err)
		}
		if b.Pos <= st.pos {
			continue
		}
		if err := st.send([]frame{encode(b)}); err != nil {
			return err
		}
		if _, _, ok := st.of.hub.after(st.pos, 0); ok {
			return nil
		}
	}
	return errors.Join(ctx.Err(), errors.New("the log ended before what is kept in memory"))
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
	for _, f := range frames {
		if err := st.s.deadline(st.w); err != nil {
			return err
		}
		if _, err := st.w.Write(f.data); err != nil {
			return fmt.Errorf("send the batch at %d: %w", f.pos, err)
		}
		st.pos = f.pos
	}
	return http.NewResponseController(st.w).Flush()
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
