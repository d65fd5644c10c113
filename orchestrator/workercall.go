package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/subagents/wire"
)

// workerCall is what a person asks of a worker, which answers with its next presence.
type workerCall struct {
	ID   string        `json:"id"`
	Verb string        `json:"verb"`
	For  time.Duration `json:"for_ns,omitempty"`
}

// What can be asked of a worker.
const (
	workerDrain  = "drain"
	workerPause  = "pause"
	workerResume = "resume"
)

// maxPause bounds a pause: each ends by itself.
const maxPause = 7 * 24 * time.Hour

// take hands a call to the goroutine of Run.
func (w *Worker) take(ctx context.Context, data []byte) {
	var c workerCall
	if err := json.Unmarshal(data, &c); err != nil {
		w.log.Warn().Err(err).Msg("what is asked of the worker cannot be read")
		return
	}
	select {
	case w.asked <- c:
	case <-ctx.Done():
	}
}

// answer does what a person asks and says so, and reports whether the worker is to leave.
func (w *Worker) answer(ctx context.Context, c workerCall) (leave bool) {
	text, leave, err := w.do(c)
	said := &wire.Said{ID: c.ID, Text: text}
	if err != nil {
		said.Error = err.Error()
	}
	w.mu.Lock()
	w.said = said
	w.mu.Unlock()
	w.say(ctx, w.bus, bus.WorkerPresence(w.o.Name), w.presence())
	return leave
}

func (w *Worker) do(c workerCall) (text string, leave bool, err error) {
	switch {
	case c.Verb == workerDrain:
		return fmt.Sprintf("worker %s takes nothing more, ends its turns and leaves", w.o.Name), true, nil
	case c.Verb == workerPause && (c.For <= 0 || c.For > maxPause):
		return "", false, fmt.Errorf("a pause takes more than nothing and at most %s, not %s", maxPause, c.For)
	case c.Verb == workerPause:
		w.pause(c.For)
		return fmt.Sprintf("worker %s takes nothing more until %s", w.o.Name, w.until.Local().Format(time.DateTime)), false, nil
	case c.Verb == workerResume:
		w.pause(0)
		return fmt.Sprintf("worker %s takes tasks", w.o.Name), false, nil
	}
	return "", false, errors.New("the worker does not know what is asked of it")
}

// pause takes nothing more for a time; 0 ends a pause.
func (w *Worker) pause(d time.Duration) {
	w.mu.Lock()
	if w.state, w.until = wire.WorkerReady, (time.Time{}); d > 0 {
		w.state, w.until = wire.WorkerPaused, now().Add(d)
	}
	w.admit()
	w.mu.Unlock()
	for _, e := range w.engaged() {
		e.changed()
	}
}

// unpause ends a pause whose time has come.
func (w *Worker) unpause() {
	if w.state == wire.WorkerPaused && !now().Before(w.until) {
		w.pause(0)
	}
}
