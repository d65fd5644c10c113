package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"divisi/internal/spec"
)

// feedPause is the shortest time between two messages of the feed.
const feedPause = 500 * time.Millisecond

// feed streams how all runs stand, and what is open in them.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	defer s.tab()()
	w.Header().Set("Content-Type", "text/event-stream")
	st := &stream{s: s, w: w, admitted: admittedTo(r)}
	if err := st.feed(r.Context()); err != nil {
		st.ended(r.Context(), err)
	}
}

// feed writes until the browser leaves or the server stops.
func (st *stream) feed(ctx context.Context) error {
	if err := st.write([]byte("retry: 250\n\n")); err != nil {
		return err
	}
	pause, beat := time.NewTicker(feedPause), time.NewTicker(keepAlive)
	defer pause.Stop()
	defer beat.Stop()
	for {
		if !st.admitted() {
			return errLeft
		}
		if err := st.news(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		case <-beat.C:
			if err := st.write([]byte(": keep-alive\n\n")); err != nil {
				return err
			}
		}
	}
}

// news sends what changed since the version that the browser has.
func (st *stream) news() error {
	rows, needs, changed, now := st.s.overview.since(st.version)
	var out []byte
	if len(rows) > 0 {
		out = fmt.Appendf(out, "event: runs\ndata: %s\n\n", spec.JSONText(rows))
	}
	if changed {
		out = fmt.Appendf(out, "event: decisions\ndata: %s\n\n", spec.JSONText(needs))
	}
	if st.version = now; len(out) == 0 {
		return nil
	}
	return st.write(out)
}

// tab counts a stream that is open, until the returned function is called.
func (s *Server) tab() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tabs++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tabs--; s.tabs == 0 {
			close(s.empty)
			s.empty = make(chan struct{})
		}
	}
}

// lingering is how long a page may be without a connection before it counts as closed: it may be loaded again.
const lingering = 5 * time.Second

// Closed waits until no browser shows the page, or ctx ends. Shown reports whether one does now.
func (s *Server) Closed(ctx context.Context) {
	for {
		s.mu.Lock()
		tabs, empty := s.tabs, s.empty
		s.mu.Unlock()
		if tabs > 0 {
			select {
			case <-empty:
			case <-ctx.Done():
				return
			}
		}
		pause := time.NewTimer(lingering)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil || !s.Shown() {
			return
		}
	}
}

// Shown reports whether a browser shows the page.
func (s *Server) Shown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tabs > 0
}
