package station

import (
	"context"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// maxPause bounds a pause: each ends by itself.
const maxPause = 7 * 24 * time.Hour

// WorkerCalls is all that a person asks of a worker.
var WorkerCalls = call.TableOf(
	call.On(call.WorkerDrain, (*Worker).drains), call.On(call.WorkerPause, (*Worker).pauses),
	call.On(call.WorkerResume, (*Worker).resumes),
)

// answer does what a person asks and says so, and reports whether the worker is to leave.
func (w *Worker) answer(ctx context.Context, m bus.Message) (leave bool) {
	d := call.Answerer[*Worker]{Table: WorkerCalls, As: w, Bus: w.bus, Log: w.Log, Pace: &w.pace}
	said, err := d.Answer(ctx, m)
	if err != nil {
		w.Log.Warn().Err(err).Msg("the request to the worker was not answered")
		return false
	}
	w.mu.Lock()
	w.said = said
	w.mu.Unlock()
	w.Say(ctx, w.bus, bus.WorkerPresence(w.o.Name), w.presence())
	return w.leaves
}

func (w *Worker) drains(context.Context, *call.In, *call.None) (string, error) {
	w.leaves = true
	return fmt.Sprintf("worker %s takes nothing more, ends its turns and leaves", w.o.Name), nil
}

func (w *Worker) pauses(_ context.Context, _ *call.In, q *call.Pause) (string, error) {
	if q.For <= 0 || q.For > maxPause {
		return "", usage.Errorf("a pause takes more than nothing and at most %s, not %s", maxPause, q.For)
	}
	w.pause(q.For)
	return fmt.Sprintf("worker %s takes nothing more until %s", w.o.Name, w.until.Local().Format(time.DateTime)), nil
}

func (w *Worker) resumes(context.Context, *call.In, *call.None) (string, error) {
	w.pause(0)
	return fmt.Sprintf("worker %s takes tasks", w.o.Name), nil
}

// pause takes nothing more for a time; 0 ends a pause.
func (w *Worker) pause(d time.Duration) {
	w.mu.Lock()
	if w.state, w.until = wire.WorkerReady, (time.Time{}); d > 0 {
		w.state, w.until = wire.WorkerPaused, depot.Now().Add(d)
	}
	w.admit()
	w.mu.Unlock()
	for _, e := range w.engaged() {
		e.changed()
	}
}

// unpause ends a pause whose time has come.
func (w *Worker) unpause() {
	if w.state == wire.WorkerPaused && !depot.Now().Before(w.until) {
		w.pause(0)
	}
}
