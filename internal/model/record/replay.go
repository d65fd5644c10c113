package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"divisi/internal/model"
)

// Replay is a model that answers from a recording. It waits for nothing. It is safe for concurrent use.
type Replay struct {
	dir     directory
	run     string
	secrets []string
	// slots are in the order in which they were recorded.
	slots map[key][]*slot

	mu sync.Mutex // guards what of the slots is given
}

// slot is a recorded exchange. Memory has only what choosing needs.
type slot struct {
	name                string
	session, occurrence int
	// over reports that its caller broke it off.
	over  bool
	given bool
}

// Load reads a recording and checks every file of it. secrets are what Options.Secrets were.
func Load(dir string, secrets []string) (*Replay, error) {
	r := &Replay{dir: directory(dir), secrets: long(secrets), slots: map[key][]*slot{}}
	m, err := r.dir.marker()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no recording: it has no %s", dir, markerFile)
	}
	if err != nil {
		return nil, fmt.Errorf("the recording %s: %w", dir, err)
	}
	r.run = m.Run
	names, err := r.dir.names()
	if err != nil {
		return nil, fmt.Errorf("the recording %s: %w", dir, err)
	}
	var faults []error
	for _, name := range names {
		faults = append(faults, r.index(name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("the recording %s cannot be used:\n%w", dir, err)
	}
	for k, slots := range r.slots {
		over := func(s *slot) bool { return s.over }
		if whole := slices.DeleteFunc(slices.Clone(slots), over); len(whole) > 0 {
			slots = whole // what its caller broke off counts only alone
		}
		slices.SortFunc(slots, func(a, b *slot) int {
			return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.occurrence, b.occurrence))
		})
		r.slots[k] = slots
	}
	return r, nil
}

func (r *Replay) index(name string) error {
	x, err := r.exchange(name)
	if err != nil {
		return err
	}
	r.slots[x.key] = append(r.slots[x.key], &slot{
		name: name, session: x.Session, occurrence: x.Occurrence, over: x.over(),
	})
	return nil
}

func (r *Replay) exchange(name string) (*exchange, error) {
	data, err := r.dir.read(name)
	if err != nil {
		return nil, err
	}
	return parse(name, data)
}

// over reports whether the caller ended the exchange.
func (x *exchange) over() bool {
	return x.BrokenOff || x.Error != nil && x.Error.Class == model.Cancelled
}

// Generate implements model.Model.
func (r *Replay) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		x, err := r.find(req)
		if err != nil {
			yield(model.Event{}, model.AsError(err))
			return
		}
		for _, e := range x.Events {
			if ctx.Err() != nil {
				break
			}
			if !yield(model.Event{Delta: e.Delta, Restart: e.Restart}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, model.AsError(err))
			return
		}
		yield(x.last())
	}
}

// last is the step that ends the answer.
func (x *exchange) last() (model.Event, error) {
	if x.Result != nil {
		return model.Event{Result: x.Result}, nil
	}
	f := x.Error
	if f == nil {
		f = &fault{Class: model.Cancelled, Message: "the recorded call was interrupted"}
	}
	e := &model.Error{
		Class: f.Class, Message: f.Message, RetryAfter: f.RetryAfter.Std(), Quota: f.Quota, Status: f.Status, Usage: f.Usage,
	}
	if f.Cause != "" {
		e.Message = f.Cause
	}
	if f.Class == model.Cancelled {
		e.Err = context.Canceled
	}
	return model.Event{}, e
}

// find chooses the exchange that answers a request: one of its key that was asked the same. The error says where the request
// differs from the first of the key.
func (r *Replay) find(req *model.Request) (*exchange, error) {
	raw, err := canonical(req, r.secrets)
	if err != nil {
		return nil, &model.Error{Class: model.Invalid, Message: err.Error()}
	}
	k, what := keyOf(req.Meta), ""
	var same []*slot
	for _, s := range r.slots[k] { // what they are never changes
		x, err := r.exchange(s.name)
		if err != nil {
			return nil, err
		}
		d, err := comparison{r.run, req.Meta.Run}.differ(x.Request, raw)
		switch {
		case err != nil:
			return nil, err
		case d == "":
			same = append(same, s)
		case what == "":
			what = fmt.Sprintf("the recording %s has another request for %s in %s: %s", r.dir, k, s.name, d)
		}
	}
	if len(same) == 0 {
		return nil, &model.Error{Class: model.Unavailable, Message: cmp.Or(what, r.missing(k))}
	}
	return r.exchange(r.take(same).name)
}

// take takes the first of the exchanges that were asked the same: that of the newest process, because what an older one did with
// its answer was lost. Where all of them are given already the last is given once more: a caller that asks the same again has
// lost its answer too.
func (r *Replay) take(same []*slot) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best, again *slot
	for _, s := range same {
		switch {
		case s.given:
			again = s
		case best == nil || s.session > best.session:
			best = s
		}
	}
	if best == nil {
		return again
	}
	best.given = true
	return best
}

// missing reports that the recording has no answer, and how far it goes.
func (r *Replay) missing(k key) string {
	what := fmt.Sprintf("the recording %s has no answer for %s", r.dir, k)
	turns, attempts := 0, 0
	for have := range r.slots {
		if have.Task != k.Task || have.Purpose != k.Purpose {
			continue
		}
		attempts = max(attempts, have.Attempt)
		if have.Attempt == k.Attempt {
			turns = max(turns, have.Turn)
		}
	}
	switch {
	case turns > k.Turn:
		return fmt.Sprintf("%s: a file is missing, for it goes on to turn %d", what, turns)
	case turns > 0:
		return fmt.Sprintf("%s: it ends with turn %d of that attempt", what, turns)
	case attempts > 0:
		return fmt.Sprintf("%s: it ends with attempt %d", what, attempts)
	}
	return what + ": it has nothing of that task"
}
