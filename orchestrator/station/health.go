package station

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"divisi/internal/machine"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

const (
	// mostAway bounds how long a worker whose machine comes and goes stays away before it looks again.
	mostAway = 10 * time.Minute
	// mostTroubles is how many attempts in a row may break off by what no measure of the machine shows.
	mostTroubles = 3
)

// Health is a worker's knowledge of its own machine.
type Health struct {
	// Lack is the missing resource of the machine; nil while the worker takes tasks. cause is why an attempt broke off, for feel
	// to take.
	Lack, cause *machine.Fault
	// back is when it may take tasks again, stay how long it was away, well when it came back.
	back, well time.Time
	stay       time.Duration
	troubles   int
}

// admit has tasks taken unless there is a pause, or the machine is not well. Its caller holds mu.
func (w *Worker) admit() {
	if w.state == wire.WorkerPaused || w.Lack != nil || depot.Now().Before(w.back) {
		w.places.Pause()
	} else {
		w.places.Resume()
	}
}

// broke takes in, from any goroutine, why an attempt broke off, nil for one that ended by itself. Nothing is taken before feel.
func (w *Worker) broke(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.troubles = 0
		return
	}
	var f *machine.Fault
	if w.troubles++; !errors.As(err, &f) && w.troubles >= mostTroubles {
		f = &machine.Fault{What: fmt.Sprintf("the needs of %d attempts in a row: %v", w.troubles, err)}
	}
	if w.Lack != nil {
		return
	}
	w.cause, w.back = f, depot.Now().Add(machine.Retry)
	w.admit()
	select {
	case w.hurt <- struct{}{}:
	default:
	}
}

// feel measures the machine. While that lacks something the worker takes nothing, and others have what it was at.
func (w *Worker) feel() {
	w.mu.Lock()
	lack, cause, wait := w.Lack, w.cause, depot.Now().Before(w.back)
	w.mu.Unlock()
	switch {
	case lack != nil && !wait:
		w.recover(w.measured(true))
	case lack == nil && cause == nil:
		w.falter(w.measured(false))
	case lack == nil:
		w.falter(cause)
	}
	w.mu.Lock()
	w.admit()
	w.mu.Unlock()
}

// falter leaves all runs until the machine has what it lacks: at first for seconds, and longer where it comes and goes.
func (w *Worker) falter(f *machine.Fault) {
	if f == nil {
		return
	}
	w.mu.Lock()
	if w.stay = min(2*w.stay, mostAway); w.stay == 0 || depot.Now().Sub(w.well) > mostAway {
		w.stay = machine.Retry
	}
	w.Lack, w.cause, w.back = f, nil, depot.Now().Add(w.stay)
	w.admit()
	w.mu.Unlock()
	w.o.Notice(fmt.Sprintf("the machine lacks something: %s; the worker returns its attempts, and takes nothing until this is "+
		"fixed",
		f.Error()))
	for _, e := range w.engaged() {
		select {
		case e.falters <- struct{}{}:
		default:
		}
	}
}

// recover has the worker take tasks again where the machine lacks nothing any more.
func (w *Worker) recover(f *machine.Fault) {
	w.mu.Lock()
	w.Lack, w.back = f, depot.Now().Add(machine.Retry)
	if f == nil {
		w.well, w.back, w.troubles = depot.Now(), time.Time{}, 0
	}
	w.mu.Unlock()
	if f == nil {
		w.o.Notice("the machine is well again: the worker takes tasks")
	}
}

// measured is the resource that the machine lacks now; nil for nothing.
func (w *Worker) measured(again bool) *machine.Fault {
	dirs := []string{w.Dir.Path}
	for _, e := range w.engaged() {
		for _, sub := range []string{depot.SlotsDir, "tmp"} {
			dir := filepath.Join(w.Dir.Run(e.run), sub)
			if _, err := os.Stat(dir); err == nil { // they are made when they are needed
				dirs = append(dirs, dir)
			}
		}
		e.mu.Lock()
		work, serves := e.work, e.serves
		e.mu.Unlock()
		if work == nil {
			continue
		}
		if absent := w.fit.Absent(work.Setup, serves); len(absent) > 0 {
			return &machine.Fault{What: strings.Join(absent, ", ")}
		}
	}
	err := w.o.Room(again, dirs...)
	var f *machine.Fault
	if err != nil && !errors.As(err, &f) {
		f = &machine.Fault{What: err.Error()}
	}
	return f
}

// Lacks is the missing resource of the machine while the worker works for no run because of that; "" where it works.
func (w *Worker) Lacks() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Lack == nil {
		return ""
	}
	return wire.Lacking(w.Lack.Error())
}

// unwell is the same as an error, nil where it works.
func (w *Worker) unwell() *unfitError {
	if why := w.Lacks(); why != "" {
		return &unfitError{why: why, soon: true}
	}
	return nil
}

// lacking returns the missing resource of the machine after a failed attempt.
func (w *Worker) lacking() error {
	if why := w.Lacks(); why != "" {
		return &machine.Fault{What: why}
	}
	if f := w.measured(false); f != nil {
		return f
	}
	return nil
}

// yield leaves what has begun to others.
func (e *workerRun) yield() {
	e.mu.Lock()
	w := e.work
	e.mu.Unlock()
	if w != nil && w.hands != nil {
		w.hands.Yield()
	}
}
