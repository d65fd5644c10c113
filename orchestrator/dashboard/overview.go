package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"divisi/orchestrator/view"
)

// overview is how all runs stand, and what is open in them. The survey alone writes it; the streams read it.
type overview struct {
	mu sync.Mutex
	// version counts the changes; changed is, by run, the version that changed its row, and needed the one that changed needs.
	version uint64
	rows    map[string]view.Row
	changed map[string]uint64
	needs   []view.Decision
	needed  uint64
}

func newOverview() *overview {
	return &overview{version: 1, rows: map[string]view.Row{}, changed: map[string]uint64{}, needed: 1}
}

// set notes all runs and decisions. A run that is not among the rows any more is gone.
func (o *overview) set(rows map[string]view.Row, needs []view.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	for id := range o.rows {
		if _, there := rows[id]; !there {
			rows[id] = view.Row{ID: id, Gone: true}
		}
	}
	for id, r := range rows {
		if was, known := o.rows[id]; !known || was != r {
			o.rows[id], o.changed[id] = r, o.version
		}
	}
	if !reflect.DeepEqual(o.needs, needs) {
		o.needs, o.needed = needs, o.version
	}
}

// since returns the rows that changed after a version, newest run first, the needs where they did, and the version now.
func (o *overview) since(version uint64) (rows []view.Row, needs []view.Decision, changed bool, now uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, at := range o.changed {
		if at > version && (version > 0 || !o.rows[id].Gone) {
			rows = append(rows, o.rows[id])
		}
	}
	slices.SortFunc(rows, func(a, b view.Row) int { return cmp.Compare(b.ID, a.ID) })
	return rows, o.needs, o.needed > version, o.version
}

// has returns the row of a run.
func (o *overview) has(id string) (view.Row, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, known := o.rows[id]
	return r, known && !r.Gone
}

// survey notes how all runs stand, once.
func (s *Server) survey(ctx context.Context) error {
	ids, err := s.opts.Runs.List(ctx)
	if err != nil {
		return fmt.Errorf("list the runs: %w", err)
	}
	rows, needs := make(map[string]view.Row, len(ids)), []view.Decision{}
	for _, id := range ids {
		stands, err := s.opts.Runs.Stand(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := stands.Row
		if r.ID, r.Active = id, stands.Active; err != nil {
			r.Problem = err.Error()
		}
		if one := s.keep(id, &stands, err == nil); one != nil {
			open := one.needs()
			one.board.with(func(st *view.State) {
				if row := view.RowOf(st); row.ID != "" && one.isWhole() {
					r = row
				}
			})
			r.ID, r.Active, r.Problem, r.Decisions = id, stands.Active, stands.Row.Problem, len(open)
			if !stands.Active && stands.Row.State != "" {
				r.State = stands.Row.State
			}
			needs = append(needs, open...)
		}
		rows[id] = r
	}
	s.leave(rows)
	s.share()
	sortNeeds(needs)
	s.overview.set(rows, needs)
	return nil
}

// keep follows a run that is active, in which something is open, or that a browser shows; it returns nil for another one.
func (s *Server) keep(id string, stands *Standing, readable bool) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.rooms[id]
	switch {
	case readable && (stands.Active || stands.Row.Decisions > 0):
		one = s.room(id)
	case one == nil:
		return nil
	case !one.watched():
		delete(s.rooms, id)
		one.cancel()
		return nil
	}
	one.stands(stands.Mark)
	one.board.attend(stands.Active)
	return one
}

// restMemory bounds the kept lines of a run that no browser shows, in bytes: those that a page begins with.
const restMemory = 1 << 20

// share divides the memory of lines among the runs that browsers show.
func (s *Server) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := 0
	for _, one := range s.rooms {
		if one.watched() {
			shown++
		}
	}
	for _, one := range s.rooms {
		if one.watched() {
			one.hub.bound(min(s.opts.Memory, allMemory*s.opts.Memory/shown))
		} else {
			one.hub.bound(min(s.opts.Memory, restMemory))
		}
	}
}

// leave stops following the runs that were removed.
func (s *Server) leave(there map[string]view.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, one := range maps.Clone(s.rooms) {
		if _, known := there[id]; !known {
			delete(s.rooms, id)
			one.cancel()
		}
	}
}

// room returns the room of a run; it begins to follow the run where nothing does. s.mu is held.
func (s *Server) room(id string) *room {
	if one := s.rooms[id]; one != nil {
		return one
	}
	one := newRoom(id, s.opts.Runs, s.opts.Controller, s.opts.Memory, s.opts.Logger)
	one.cancel = s.begin(func(ctx context.Context) {
		var reading sync.WaitGroup
		reading.Go(func() { one.show(ctx) })
		one.follow(ctx)
		reading.Wait()
	})
	s.rooms[id] = one
	return one
}

// watch follows a run for a browser, until leave. A run that the survey has not found yet may have begun just now.
func (s *Server) watch(ctx context.Context, id string) (one *room, leave func(), err error) {
	if _, known := s.overview.has(id); !known {
		ids, err := s.opts.Runs.List(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("list the runs: %w", err)
		}
		if !slices.Contains(ids, id) {
			return nil, nil, errNoRun
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one = s.room(id)
	return one, one.watch(), nil
}

// whole is watch of a run whose log was read.
func (s *Server) whole(ctx context.Context, id string) (one *room, leave func(), err error) {
	if one, leave, err = s.watch(ctx, id); err != nil {
		return nil, nil, err
	}
	if err = one.whole(ctx); err != nil {
		leave()
	}
	return one, leave, err
}

// errNoRun reports that there is no such run, or no more.
var errNoRun = &refusedError{http.StatusNotFound, "there is no such run: it was removed, or its name is wrong"}
