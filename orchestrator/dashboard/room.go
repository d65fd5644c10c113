package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/orchestrator/view"
)

// freshFrames is how many positions before its end a log that is read for the first time becomes lines at once.
const freshFrames = 4000

// room is one run that is followed: its log is read and folded once for all browsers.
type room struct {
	id      string
	runs    Runs
	control Controller
	log     zerolog.Logger
	hub     *hub
	board   *board
	// again is sent to when the run stands otherwise: it is opened again.
	again chan struct{}
	// wanted is sent to when the patches of decisions are to be read.
	wanted chan struct{}
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
	// fault is why the run cannot be read now, and stumbled is closed with each such error, which makes another one.
	fault    error
	stumbled chan struct{}
	// decisions are those whose patches were read, by their keys.
	decisions map[string]readDecision
}

func newRoom(id string, runs Runs, control Controller, memory int, log zerolog.Logger) *room {
	return &room{
		id: id, runs: runs, control: control, log: log.With().Str("run", id).Logger(), hub: newHub(memory), board: newBoard(),
		again: make(chan struct{}, 1), wanted: make(chan struct{}, 1), stumbled: make(chan struct{}),
		ready: make(chan struct{}), done: make(chan struct{}), decisions: map[string]readDecision{},
	}
}

// follow feeds the board and the hub until ctx ends. A log that fails is read again after a moment, from where it was; one that
// does not grow when the run stands otherwise.
func (r *room) follow(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		err := r.followOnce(ctx)
		r.stumble(err)
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
		if b.Pos+freshFrames < end {
			r.hub.pass(b.Pos) // a page asks for older lines where it needs them
		} else {
			r.hub.add(encode(b))
		}
		r.caughtUp(end)
	}
	if ctx.Err() == nil {
		r.caughtUp(r.hub.last()) // a log at rest ends before its newest message where that is lost
	}
	return nil
}

// caughtUp reports to those who wait that the log was read to its end.
func (r *room) caughtUp(end uint64) {
	if r.hub.last() >= end {
		r.caught.Do(func() { close(r.ready) })
	}
}

// stumble notes why the run cannot be read; nil for nothing.
func (r *room) stumble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault = err; err != nil {
		close(r.stumbled)
		r.stumbled = make(chan struct{})
	}
}

// whole waits until the log was read, or cannot be.
func (r *room) whole(ctx context.Context) error {
	if r.isWhole() {
		return nil
	}
	r.mu.Lock()
	fault, stumbled := r.fault, r.stumbled
	r.mu.Unlock()
	if fault != nil {
		return fault
	}
	select {
	case <-r.ready:
		return nil
	case <-stumbled:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fault
	case <-r.done:
		return errNoRun
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *room) isWhole() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// stands tells the room how its run stands; where that is new, the run is opened again. So it is with the first mark: a browser
// may have had the run opened before.
func (r *room) stands(mark string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mark == mark {
		return
	}
	r.mark = mark
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

// needs lists what is open in the run, what blocks most first; nothing before the log was read. What only the patches of a
// decision tell is added once they were read.
func (r *room) needs() []view.Decision {
	if !r.isWhole() {
		return nil
	}
	open := []view.Decision{}
	r.board.with(func(s *view.State) { open = append(open, view.Open(s)...) })
	known, missing, now := map[string]bool{}, false, time.Now()
	r.mu.Lock()
	for i := range open {
		n := &open[i]
		d, read := r.decisions[n.Key()]
		n.Run, n.Files, n.Alike = r.id, d.Files, d.Alike
		known[n.Key()], missing = true, missing || !read || d.faulty && now.Sub(d.read) > faultAfter
	}
	maps.DeleteFunc(r.decisions, func(key string, _ readDecision) bool { return !known[key] })
	r.mu.Unlock()
	for i := range open {
		open[i].Since = r.board.timeAt(open[i].Pos)
	}
	if missing {
		select {
		case r.wanted <- struct{}{}:
		default:
		}
	}
	return open
}

// show reads the patches of decisions when they are wanted, until ctx ends: that can take long, and holds up nothing else.
func (r *room) show(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
		}
		if err := r.showOnce(ctx); err != nil && ctx.Err() == nil {
			r.log.Info().Err(err).Msg("the patches of decisions cannot be read")
		}
		pause := time.NewTimer(retryAfter)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// readDecision is a decision whose patches were read; faulty ones that could not be are read again after faultAfter.
type readDecision struct {
	view.Decision

	read   time.Time
	faulty bool
}

const faultAfter = 30 * time.Second

// showTime bounds the reading of the patches of all open decisions.
const showTime = time.Minute

func (r *room) showOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	all, err := r.control.Decisions(ctx, r.id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range all {
		faulty := slices.ContainsFunc(d.Patches, func(p view.Patch) bool { return p.Fault != "" })
		r.decisions[d.Key()] = readDecision{d, time.Now(), faulty}
	}
	return nil
}

// decision finds one that is open, with its patches.
func (r *room) decision(ctx context.Context, id string) (d view.Decision, open bool, err error) {
	needs := r.needs()
	i := slices.IndexFunc(needs, func(n view.Decision) bool { return n.ID == id })
	if i < 0 {
		return d, false, nil
	}
	d = needs[i]
	r.mu.Lock()
	had, read := r.decisions[d.Key()]
	r.mu.Unlock()
	if !read {
		all, err := r.control.Decisions(ctx, r.id)
		if err != nil {
			return d, true, err
		}
		at := slices.IndexFunc(all, func(o view.Decision) bool { return o.Key() == d.Key() })
		if at < 0 {
			return d, false, nil
		}
		had.Decision = all[at]
	}
	d.Files, d.Alike, d.Patches, d.Plan = had.Files, had.Alike, had.Patches, had.Plan
	r.board.with(func(s *view.State) { view.Recall(s, &d) })
	return d, true, nil
}

// sortNeeds puts what blocks most first, then the oldest.
func sortNeeds(needs []view.Decision) {
	slices.SortStableFunc(needs, func(a, b view.Decision) int {
		if a.Blocks != b.Blocks {
			return b.Blocks - a.Blocks
		}
		return int(min(1, max(-1, a.Since-b.Since)))
	})
}
