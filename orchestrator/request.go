package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/contextscope"
)

// VerbCancelRun asks a run's conductor to end the run for good.
const VerbCancelRun = "cancel_run"

// Request is what another process asks of a run's conductor.
type Request struct {
	Verb string `json:"verb"`
	Text string `json:"text,omitempty"`
}

// Reply is the conductor's answer.
type Reply struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// requestSubject is where a run's conductor listens; the workers' control messages go beside it.
func requestSubject(run string) string { return bus.ControlSubject(run) + ".conductor" }

type request struct {
	Request
	reply func(Reply)
}

// ask is how long another process waits for a conductor's answer.
const askTimeout = 10 * time.Second

// Cancel asks the conductor of a run, in whichever process it is, to cancel the run.
func Cancel(ctx context.Context, b *bus.Bus, run, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	data, err := json.Marshal(Request{Verb: VerbCancelRun, Text: reason})
	if err != nil {
		return fmt.Errorf("encode a request to run %s: %w", run, err)
	}
	raw, err := b.Request(ctx, requestSubject(run), data)
	if err != nil {
		return fmt.Errorf("ask run %s to cancel: %w", run, err)
	}
	var r Reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("read the answer of run %s: %w", run, err)
	}
	if !r.OK {
		return fmt.Errorf("run %s: %s", run, r.Error)
	}
	return nil
}

// listen passes requests to the conductor's goroutine.
func (c *Conductor) listen(ctx context.Context, asks chan<- request) (stop func(), err error) {
	return c.cfg.Bus.Subscribe(ctx, requestSubject(c.cfg.Run), func(m bus.Message, reply func([]byte) error) {
		answer := func(r Reply) {
			data, err := json.Marshal(r)
			if err == nil {
				err = reply(data)
			}
			if err != nil {
				c.cfg.Log.Warn().Err(err).Str("run", c.cfg.Run).Msg("a request could not be answered")
			}
		}
		var r Request
		if err := json.Unmarshal(m.Data, &r); err != nil {
			answer(Reply{Error: fmt.Sprintf("the request is not JSON: %v", err)})
			return
		}
		select {
		case asks <- request{r, answer}:
		case <-ctx.Done():
			answer(Reply{Error: "the run is stopping"})
		}
	})
}

// answer carries a request out.
func (c *Conductor) answer(ctx context.Context, r request) error {
	if r.Verb != VerbCancelRun {
		r.reply(Reply{Error: fmt.Sprintf("unknown request %q", r.Verb)})
		return nil
	}
	err := c.Cancel(ctx, r.Text)
	if err != nil {
		r.reply(Reply{Error: err.Error()})
		return err
	}
	r.reply(Reply{OK: true})
	return nil
}

// Cancel ends the run for good: nothing of it is dispatched again, and what is queued is taken back.
func (c *Conductor) Cancel(ctx context.Context, reason string) error {
	if reason == "" {
		reason = "cancelled by a person"
	}
	if err := c.append(ctx, contextscope.KindRun, "", RunData{State: RunCancelled, Reason: reason}); err != nil {
		return err
	}
	return c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run))
}

// interrupted leaves the run for resume when the process is asked to stop.
func (c *Conductor) interrupted() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return c.stopped(ctx, "stopped by a person")
}

// stopTimeout bounds what a stopping conductor still writes, so that Ctrl-C ends within five seconds.
const stopTimeout = 2 * time.Second

func (c *Conductor) stopped(ctx context.Context, reason string) error {
	if c.st.Run.Ended() {
		return nil
	}
	return c.append(ctx, contextscope.KindRun, "", RunData{State: RunStopped, Reason: reason})
}
