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

// workerCall is what a person asks of a worker.
type workerCall struct {
	Verb string        `json:"verb"`
	For  time.Duration `json:"for_ns,omitempty"`

	reply func(text string, err error)
}

// What can be asked of a worker.
const (
	workerDrain  = "drain"
	workerPause  = "pause"
	workerResume = "resume"
)

// maxPause bounds a pause: each ends by itself.
const maxPause = 7 * 24 * time.Hour

// workerReply is what becomes of it.
type workerReply struct {
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// take hands a call to the goroutine of Run.
func (w *Worker) take(ctx context.Context, data []byte, reply func([]byte) error) {
	var c workerCall
	c.reply = func(text string, err error) {
		r := workerReply{Text: text}
		if err != nil {
			r.Error = err.Error()
		}
		data, err := json.Marshal(r)
		if err == nil {
			err = reply(data)
		}
		if err != nil {
			w.log.Warn().Err(err).Msg("a person was not answered")
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		c.reply("", fmt.Errorf("the request is not JSON: %w", err))
		return
	}
	select {
	case w.asked <- c:
	case <-ctx.Done():
		c.reply("", errors.New("the worker ends"))
	}
}

// answer does what a person asks, and reports whether the worker is to leave.
func (w *Worker) answer(c workerCall) (leave bool) {
	switch {
	case c.Verb == workerDrain:
		c.reply(fmt.Sprintf("worker %s takes nothing more, ends its turns and leaves", w.o.Name), nil)
		return true
	case c.Verb == workerPause && (c.For <= 0 || c.For > maxPause):
		c.reply("", fmt.Errorf("a pause takes more than nothing and at most %s, not %s", maxPause, c.For))
	case c.Verb == workerPause:
		w.pause(c.For)
		c.reply(fmt.Sprintf("worker %s takes nothing more until %s", w.o.Name, w.until.Local().Format(time.DateTime)), nil)
	case c.Verb == workerResume:
		w.pause(0)
		c.reply(fmt.Sprintf("worker %s takes tasks", w.o.Name), nil)
	default:
		c.reply("", fmt.Errorf("unknown request %.40q", c.Verb))
	}
	return false
}

// pause takes nothing more for a time; 0 ends a pause.
func (w *Worker) pause(d time.Duration) {
	w.mu.Lock()
	if w.state, w.until = wire.WorkerReady, (time.Time{}); d > 0 {
		w.state, w.until = wire.WorkerPaused, now().Add(d)
		w.places.Pause()
	} else {
		w.places.Resume()
	}
	w.mu.Unlock()
	for _, e := range w.engaged() {
		e.changed()
	}
	w.say(context.Background(), w.bus, bus.WorkerPresence(w.o.Name), w.presence())
}

// unpause ends a pause whose time has come.
func (w *Worker) unpause() {
	if w.state == wire.WorkerPaused && !now().Before(w.until) {
		w.pause(0)
	}
}
