package dashboard

import (
	"cmp"
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
	"divisi/orchestrator/view/feed"
	"divisi/orchestrator/view/page"
)

// prefix is where the data is; the number changes when a program that reads it would have to.
const prefix = "/api/v1"

// api are the addresses below prefix; docs/openapi.yaml describes them.
func (s *Server) api() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		"GET /feed":              s.feed,
		"GET /runs/{run}/events": s.events,
		"GET /runs/{run}/lines":  s.lines,
	}
	for address, do := range map[string]answer{
		"GET /me":                              s.me,
		"GET /runs":                            s.list,
		"GET /decisions":                       s.decisions,
		"GET /runs/{run}":                      s.about,
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
		"POST /runs/{run}/decisions/{id}/now":  s.decide("apply"),
	} {
		all[address] = s.answers(do)
	}
	return all
}

// answer is the reply to a request, as JSON, or the reason why there is none.
type answer = func(r *http.Request) (any, error)

func (s *Server) answers(do answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		v, err := do(r)
		if err != nil {
			s.fail(w, err)
			return
		}
		s.sendJSON(w, v)
	}
}

func (s *Server) unknown(w http.ResponseWriter, _ *http.Request) {
	s.refuse(w, http.StatusNotFound, "there is no such address")
}

// me tells who opened the page, what that person may do, and on what the page begins.
func (s *Server) me(r *http.Request) (any, error) {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	who, role := by(r.Context()), "viewer"
	if who.Writes {
		role = "person"
	}
	return map[string]any{
		"name": who.Name, "role": role, "writes": who.Writes, "raw": who.Raw, "version": s.opts.Version, "run": first,
		"acts": offers(), "called": cmp.Or(s.opts.Called, "divisi"),
	}, nil
}

// list answers with the rows of all runs, decisions with all that is open, what blocks most first.
func (s *Server) list(*http.Request) (any, error) {
	rows, _, _, _ := s.overview.since(0) //nolint:dogsled // the rest is the feed's
	return rows, nil
}

func (s *Server) decisions(*http.Request) (any, error) {
	_, needs, _, _ := s.overview.since(0) //nolint:dogsled // the rest is the feed's
	return needs, nil
}

// about answers with the report of a run, and its row.
func (s *Server) about(r *http.Request) (any, error) {
	id := r.PathValue("run")
	row, known := s.overview.has(id)
	if !known {
		return nil, errNoRun
	}
	report, err := s.opts.Controller.Show(r.Context(), Query{What: ShowReport, Run: id})
	return map[string]any{"row": row, "report": report}, err
}

// since answers with what has become of a run since a time.
func (s *Server) since(r *http.Request) (any, error) {
	at, err := strconv.ParseInt(r.URL.Query().Get("time"), 10, 64)
	if err != nil {
		return nil, wrong("time is in unix milliseconds")
	}
	lines, err := s.news(r.Context(), r.PathValue("run"), time.UnixMilli(at))
	return map[string]any{"lines": lines}, err
}

// news reads the log again: what the browser missed may be long ago.
func (s *Server) news(ctx context.Context, id string, at time.Time) (lines []string, err error) {
	err = s.read(ctx, id, func(ctx context.Context, last uint64, opened Run) (failed error) {
		var unread []error
		lines, unread = feed.Since(func(yield func(contextscope.Event) bool) {
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
				if b.Pos >= last { // what comes later is no news of the time away
					return
				}
			}
		}, at)
		for _, err := range unread {
			s.opts.Logger.Debug().Err(err).Str("run", id).Msg("what has become of the run leaves out an event")
		}
		return failed
	})
	return lines, err
}

// read opens the log of a run that was read up to its last position, for one thing.
func (s *Server) read(ctx context.Context, id string, do func(ctx context.Context, last uint64, opened Run) error) (err error) {
	one, leave, err := s.whole(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	opened, err := s.opts.Runs.Open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return do(ctx, one.hub.last(), opened)
}

// batch answers with the events at one position, whole.
func (s *Server) batch(r *http.Request) (any, error) {
	pos, err := strconv.ParseUint(r.URL.Query().Get("pos"), 10, 64)
	if err != nil || pos == 0 {
		return nil, wrong("pos is a position in the log, from 1")
	}
	var events []contextscope.Event
	err = s.read(r.Context(), r.PathValue("run"), func(ctx context.Context, last uint64, opened Run) error {
		if pos > last {
			return errNoBatch
		}
		for b, err := range opened.Tail(ctx, pos-1) {
			switch {
			case err != nil:
				return fmt.Errorf("read the log at %d: %w", pos, err)
			case b.Pos == pos:
				events = placed(b)
				return nil
			case b.Pos > pos:
				return errNoBatch
			}
		}
		return errNoBatch
	})
	return events, err
}

// errNoBatch reports that the log has no message at a position.
var errNoBatch = &refusedError{http.StatusNotFound, "there is no batch at that position"}

// decision answers with one that is open, whole.
func (s *Server) decision(r *http.Request) (any, error) {
	one, leave, err := s.whole(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	defer leave()
	d, open, err := one.decision(r.Context(), r.PathValue("id"))
	if err == nil && !open {
		err = &refusedError{http.StatusNotFound, "this decision is not open any more"}
	}
	return d, err
}

// task answers with a task and its attempts.
func (s *Server) task(r *http.Request) (any, error) {
	one, leave, err := s.whole(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	defer leave()
	var task page.Task
	var known bool
	one.board.with(func(st *view.State) {
		task, known = page.OfTask(st, r.PathValue("task"))
		task.Acts = page.Acts(st, one.board.active, task.Task.ID)
	})
	if !known {
		return nil, &refusedError{http.StatusNotFound, "the run has no such task, or no more: its plan was edited"}
	}
	return task, nil
}

// show answers with more of an attempt of a task.
func (s *Server) show(what string) answer {
	return func(r *http.Request) (any, error) {
		q := Query{What: what, Run: r.PathValue("run"), Task: r.PathValue("task")}
		for name, to := range map[string]*int{"attempt": &q.Attempt, "turn": &q.Turn} {
			value := r.URL.Query().Get(name)
			if value == "" {
				continue
			}
			var err error
			if *to, err = strconv.Atoi(value); err != nil || *to < 0 {
				return nil, wrong(name + " is a number, from 1")
			}
		}
		if _, known := s.overview.has(q.Run); !known {
			return nil, errNoRun
		}
		return s.opts.Controller.Show(r.Context(), q)
	}
}

// refusedError is why a request is refused, with the status that says so.
type refusedError struct {
	status int
	why    string
}

func (e *refusedError) Error() string { return e.why }

// wrong is the error of a request that no browser of the page makes.
func wrong(why string) error { return &refusedError{http.StatusBadRequest, why} }

// fail answers with why something cannot be done.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		status = refused.status
	case errors.As(err, new(*usage.Error)):
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
