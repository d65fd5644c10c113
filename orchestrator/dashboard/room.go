package dashboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// room is one run that is followed: its log is read and folded once for all browsers.
type room struct {
	id      string
	runs    Runs
	control Controller
	log     zerolog.Logger
	hub     *hub
	board   *board
	// again is sent to when the run stands otherwise: it is opened anew.
	again chan struct{}
	// ready is closed when the log was read to the end that it had when it was opened first.
	ready  chan struct{}
	caught sync.Once
	// cancel ends follow, which closes done.
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// mark is the Standing's that the run was opened under last, watchers counts the browsers.
	mark     string
	watchers int
	// decisions are those that were shown, by their ids and attempts.
	decisions map[string]Decision
}

func newRoom(id string, runs Runs, control Controller, memory int, log zerolog.Logger) *room {
	return &room{
		id: id, runs: runs, control: control, log: log.With().Str("run", id).Logger(), hub: newHub(memory), board: newBoard(),
		again: make(chan struct{}, 1), ready: make(chan struct{}), done: make(chan struct{}), decisions: map[string]Decision{},
	}
}

// follow feeds the board and the hub until ctx ends. A log that fails is read again after a moment, from where it was; one that
// does not grow when the run stands otherwise.
func (r *room) follow(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		err := r.followOnce(ctx)
		var retry <-chan time.Time
		if err != nil && ctx.Err() == nil {
			r.log.Info().Err(err).Msg("the page reads the log again")
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
		case <-r.again:
		case <-retry:
		}
	}
}

// followOnce reads a run from where the hub is: to the end of its log, or until the run stands otherwise.
func (r *room) followOnce(ctx context.Context) (err error) {
	opened, err := r.runs.Open(ctx, r.id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	end, err := opened.Last(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.caughtUp(end)
	for b, err := range opened.Tail(ctx, r.hub.last()) {
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", r.hub.last(), err)
		}
		if b.Pos <= r.hub.last() {
			continue
		}
		for _, err := range r.board.fold(b) {
			r.log.Debug().Err(err).Msg("the view leaves out an event")
		}
		r.hub.add(encode(b))
		r.caughtUp(end)
	}
	return nil
}

// caughtUp reports to those who wait that the log was read to its end.
func (r *room) caughtUp(end uint64) {
	if r.hub.last() >= end {
		r.caught.Do(func() { close(r.ready) })
	}
}

// whole waits until the log was read.
func (r *room) whole(ctx context.Context) error {
	select {
	case <-r.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stands tells the room how its run stands; where that is new, the run is opened anew.
func (r *room) stands(mark string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mark == mark {
		return
	}
	first := r.mark == ""
	if r.mark = mark; first {
		return
	}
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// watch counts a browser until leave.
func (r *room) watch() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watchers--
	}
}

func (r *room) watched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watchers > 0
}

// needs lists what is open in the run: what blocks most first.
func (r *room) needs(ctx context.Context) []Need {
	var open []run.Decision
	r.board.with(func(s *run.State) {
		if s.Spec.Run != "" {
			open = decision.Open(s)
			decision.Count(s, open)
		}
	})
	out := make([]Need, 0, len(open))
	known := map[string]bool{}
	for i := range open {
		key := fmt.Sprintf("%s/%d", open[i].ID, open[i].Attempt)
		known[key] = true
		d, err := r.shown(ctx, key, &open[i])
		if err != nil {
			r.log.Info().Err(err).Str("decision", open[i].ID).Msg("a decision cannot be shown whole")
			continue
		}
		n := d.Need
		n.Blocks, n.Since = open[i].Blocks, r.board.timeAt(open[i].Pos)
		out = append(out, n)
	}
	r.forget(known)
	return out
}

// forget leaves out the decisions that are not open any more.
func (r *room) forget(known map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.decisions {
		if !known[key] {
			delete(r.decisions, key)
		}
	}
}

// shown is a decision as a person sees it. It is read once: another patch is another attempt. A plan can be edited.
func (r *room) shown(ctx context.Context, key string, d *run.Decision) (out Decision, err error) {
	r.mu.Lock()
	out, known := r.decisions[key]
	r.mu.Unlock()
	if known && d.Kind != run.DecidePlan {
		return out, nil
	}
	r.board.with(func(s *run.State) { out, err = r.control.Decision(ctx, s, d) })
	if err != nil {
		return out, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decisions[key] = out
	return out, nil
}

// decision finds one that is open.
func (r *room) decision(ctx context.Context, id string) (Decision, bool) {
	for _, n := range r.needs(ctx) {
		if n.ID == id {
			r.mu.Lock()
			d := r.decisions[fmt.Sprintf("%s/%d", id, n.Attempt)]
			r.mu.Unlock()
			d.Need = n
			return d, true
		}
	}
	return Decision{}, false
}

// sortNeeds puts what blocks most first, then the oldest.
func sortNeeds(needs []Need) {
	slices.SortStableFunc(needs, func(a, b Need) int {
		if a.Blocks != b.Blocks {
			return b.Blocks - a.Blocks
		}
		return int(min(1, max(-1, a.Since-b.Since)))
	})
}
