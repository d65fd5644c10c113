package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"divisi/contextscope"
	"divisi/internal/usage"
	"divisi/orchestrator/view"
)

// prefix is where the data is; the number changes when a program that reads it would have to.
const prefix = "/api/v1"

// api are the addresses below prefix; docs/openapi.yaml describes them.
func (s *Server) api() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /me":                              s.me,
		"GET /feed":                            s.feed,
		"GET /runs":                            s.list,
		"GET /decisions":                       s.decisions,
		"GET /runs/{run}":                      s.about,
		"GET /runs/{run}/events":               s.events,
		"GET /runs/{run}/lines":                s.lines,
		"GET /runs/{run}/since":                s.since,
		"GET /runs/{run}/batch":                s.batch,
		"GET /runs/{run}/decisions/{id}":       s.decision,
		"GET /runs/{run}/tasks/{task}":         s.task,
		"GET /runs/{run}/tasks/{task}/diff":    s.show(ShowDiff),
		"GET /runs/{run}/tasks/{task}/log":     s.show(ShowLog),
		"GET /runs/{run}/tasks/{task}/context": s.show(ShowContext),
		"POST /runs/{run}/acts":                s.act,
		"POST /runs/{run}/decisions/{id}":      s.decide("decide"),
		"POST /runs/{run}/decisions/{id}/back": s.decide("take_back"),
	}
}

func (s *Server) unknown(w http.ResponseWriter, _ *http.Request) {
	s.refuse(w, http.StatusNotFound, "there is no such address")
}

// me tells who opened the page, what that person may do, and on what the page begins.
func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	who, role := by(r.Context()), "viewer"
	if who.Writes {
		role = "person"
	}
	s.sendJSON(w, map[string]any{
		"name": who.Name, "role": role, "writes": who.Writes, "raw": who.Raw, "version": s.opts.Version, "run": first,
	})
}

// list answers with the rows of all runs, decisions with all that is open, what blocks most first.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	rows, _, _, _ := s.overview.since(0) //nolint:dogsled // the rest is the feed's
	s.sendJSON(w, rows)
}

func (s *Server) decisions(w http.ResponseWriter, _ *http.Request) {
	_, needs, _, _ := s.overview.since(0) //nolint:dogsled // the rest is the feed's
	s.sendJSON(w, needs)
}

// about answers with the report of a run, and its row.
func (s *Server) about(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("run")
	row, known := s.overview.has(id)
	if !known {
		s.fail(w, errNoRun)
		return
	}
	report, err := s.opts.Controller.Show(r.Context(), Query{What: ShowReport, Run: id})
	if err != nil {
		s.fail(w, err)
		return
	}
	s.sendJSON(w, map[string]any{"row": row, "report": report})
}

// since answers with what has become of a run since a time.
func (s *Server) since(w http.ResponseWriter, r *http.Request) {
	at, err := strconv.ParseInt(r.URL.Query().Get("time"), 10, 64)
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "time is in unix milliseconds")
		return
	}
	lines, err := s.news(r.Context(), r.PathValue("run"), time.UnixMilli(at))
	if err != nil {
		s.fail(w, err)
		return
	}
	s.sendJSON(w, map[string]any{"lines": lines})
}

// news reads the log again: what the browser missed may be long ago.
func (s *Server) news(ctx context.Context, id string, at time.Time) (lines []string, err error) {
	one, leave, err := s.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := one.whole(ctx); err != nil {
		return nil, err
	}
	opened, err := s.opts.Runs.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	lines, unread := view.Since(func(yield func(contextscope.Event) bool) {
		for b, err := range opened.Tail(ctx, 0) {
			if err != nil {
				failed = err
				return
			}
			for _, e := range placed(b) {
				if !yield(e) {
					return
				}
			}
			if b.Pos >= one.hub.last() { // what comes later is no news of the time away
				return
			}
		}
	}, at)
	for _, err := range unread {
		s.opts.Logger.Debug().Err(err).Str("run", id).Msg("what has become of the run leaves out an event")
	}
	return lines, failed
}

// batch answers with the events at one position, whole.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	pos, err := strconv.ParseUint(r.URL.Query().Get("pos"), 10, 64)
	if err != nil || pos == 0 {
		s.refuse(w, http.StatusBadRequest, "pos is a position in the log, from 1")
		return
	}
	b, err := s.batchAt(r.Context(), r.PathValue("run"), pos)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.sendJSON(w, placed(b))
}

// errNoBatch reports that the log has no message at a position.
var errNoBatch = errors.New("there is no batch at that position")

func (s *Server) batchAt(ctx context.Context, id string, pos uint64) (b Batch, err error) {
	one, leave, err := s.watch(ctx, id)
	if err != nil {
		return b, err
	}
	defer leave()
	if err := one.whole(ctx); err != nil {
		return b, err
	}
	if pos > one.hub.last() {
		return b, errNoBatch
	}
	opened, err := s.opts.Runs.Open(ctx, id)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for b, err := range opened.Tail(ctx, pos-1) {
		switch {
		case err != nil:
			return b, fmt.Errorf("read the log at %d: %w", pos, err)
		case b.Pos == pos:
			return b, nil
		case b.Pos > pos:
			return b, errNoBatch
		}
	}
	return b, errNoBatch
}

// decision answers with one that is open, whole.
func (s *Server) decision(w http.ResponseWriter, r *http.Request) {
	one, leave, err := s.watch(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer leave()
	if err := one.whole(r.Context()); err != nil {
		s.fail(w, err)
		return
	}
	d, open, err := one.decision(r.Context(), r.PathValue("id"))
	if err != nil {
		s.fail(w, err)
		return
	}
	if !open {
		s.refuse(w, http.StatusNotFound, "this decision is not open any more")
		return
	}
	s.sendJSON(w, d)
}

// task answers with a task and its attempts.
func (s *Server) task(w http.ResponseWriter, r *http.Request) {
	one, leave, err := s.watch(r.Context(), r.PathValue("run"))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer leave()
	if err := one.whole(r.Context()); err != nil {
		s.fail(w, err)
		return
	}
	var page view.TaskPage
	var known bool
	one.board.with(func(st *view.State) { page, known = view.TaskPageOf(st, r.PathValue("task")) })
	if !known {
		s.refuse(w, http.StatusNotFound, "the run has no such task, or no more: its plan was edited")
		return
	}
	s.sendJSON(w, page)
}

// show answers with more of an attempt of a task.
func (s *Server) show(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := Query{What: what, Run: r.PathValue("run"), Task: r.PathValue("task")}
		for name, to := range map[string]*int{"attempt": &q.Attempt, "turn": &q.Turn} {
			value := r.URL.Query().Get(name)
			if value == "" {
				continue
			}
			var err error
			if *to, err = strconv.Atoi(value); err != nil || *to < 0 {
				s.refuse(w, http.StatusBadRequest, name+" is a number, from 1")
				return
			}
		}
		if _, known := s.overview.has(q.Run); !known {
			s.fail(w, errNoRun)
			return
		}
		data, err := s.opts.Controller.Show(r.Context(), q)
		if err != nil {
			s.fail(w, err)
			return
		}
		s.sendJSON(w, data)
	}
}

// fail answers with why something cannot be done.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var mistake *usage.Error
	switch {
	case errors.Is(err, errNoRun), errors.Is(err, errNoBatch):
		status = http.StatusNotFound
	case errors.As(err, &mistake):
		status = http.StatusConflict
	}
	s.refuse(w, status, err.Error())
}

func (s *Server) refuse(w http.ResponseWriter, status int, why string) {
	data, err := json.Marshal(map[string]string{"error": why})
	if err != nil {
		http.Error(w, why, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	s.send(w, data)
}
