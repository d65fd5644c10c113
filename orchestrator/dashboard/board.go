package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/page"
)

// board holds the fold of the run for all browsers. The tailer alone feeds it; the streams read views.
type board struct {
	mu     sync.Mutex
	clock  func() time.Time
	state  *view.State
	active bool // a process has the run
	series page.Series
	// folded counts the batches, built is that count when view was made.
	folded, built uint64
	view          page.Run
	// made is the minute of the view: while nothing is written, the words of an alarm change once in a minute.
	made time.Time
	// version counts the views; changed is, by task, the version of the view that changed its row.
	version uint64
	// drawn is the version of the view that had a point more, and points reports which points the series had then.
	drawn   uint64
	points  [2]int64
	rows    map[string]page.TaskRow
	changed map[string]uint64
	// times are when the batches were written, oldest first.
	times []written
}

// written is when the batch at a position was, in unix milliseconds.
type written struct {
	pos uint64
	at  int64
}

func newBoard() *board {
	return &board{
		clock: time.Now, state: view.NewState(), rows: map[string]page.TaskRow{}, changed: map[string]uint64{}, folded: 1,
	}
}

// fold applies a batch. An event that the fold cannot read is an error; the others of its batch count.
func (b *board) fold(batch Batch) (unread []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := placed(batch)
	for i := range events {
		if err := b.state.Apply(&events[i]); err != nil {
			unread = append(unread, err)
		}
	}
	b.series.Add(b.state)
	b.folded++
	b.times = append(b.times, written{batch.Pos, max(0, b.state.Time.UnixMilli())})
	return unread
}

// attend notes whether a process has the run.
func (b *board) attend(active bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active != active {
		b.active = active
		b.folded++
	}
}

// with calls do with the state, which does not change meanwhile and is not kept.
func (b *board) with(do func(s *view.State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(b.state)
}

// timeAt is when the batch at a position was written; 0 for none.
func (b *board) timeAt(pos uint64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := slices.BinarySearchFunc(b.times, pos, func(w written, pos uint64) int { return cmp.Compare(w.pos, pos) })
	if !found {
		return 0
	}
	return b.times[i].at
}

// back finds the batches before a position, at most as many as named: they are those behind from, up to last; 0 for none.
func (b *board) back(before uint64, most int) (from, last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearchFunc(b.times, before, func(w written, pos uint64) int { return cmp.Compare(w.pos, pos) })
	if i > most {
		from = b.times[i-most-1].pos
	}
	if i > 0 {
		last = b.times[i-1].pos
	}
	return from, last
}

// after returns the server-sent event of the newest view, with the tasks that changed after a version, and its version. It
// returns nothing where that version is the newest.
func (b *board) after(version uint64) ([]byte, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if b.built < b.folded || b.view.Ages() && !b.made.Equal(now.Truncate(time.Minute)) {
		b.build(now)
	}
	if version == b.version {
		return nil, version
	}
	v := b.view
	if b.drawn <= version {
		v.Series = nil
	}
	v.Tasks = []page.TaskRow{}
	for _, t := range b.view.Tasks {
		if b.changed[t.ID] > version {
			v.Tasks = append(v.Tasks, t)
		}
	}
	return fmt.Appendf(nil, "event: view\ndata: %s\n\n", spec.JSONText(v)), b.version
}

func (b *board) build(now time.Time) {
	b.view, b.built, b.made = page.Of(b.state, now), b.folded, now.Truncate(time.Minute)
	b.view.Acts = page.Acts(b.state, b.active, "")
	b.view.Series = b.series.Until(b.state, now)
	b.view.Tasks = append(b.view.Tasks, b.removed()...)
	b.version++
	if points := [2]int64{b.series.Added, b.view.Ended}; b.drawn == 0 || b.points != points {
		b.drawn, b.points = b.version, points
	}
	for _, t := range b.view.Tasks {
		if was, known := b.rows[t.ID]; !known || !reflect.DeepEqual(was, t) {
			b.rows[t.ID], b.changed[t.ID] = t, b.version
		}
	}
}

// removed are the tasks that pages still show and that the run no longer has.
func (b *board) removed() (out []page.TaskRow) {
	gone := maps.Clone(b.rows)
	for i := range b.view.Tasks {
		delete(gone, b.view.Tasks[i].ID)
	}
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		out = append(out, gone[id].Removed())
	}
	return out
}
