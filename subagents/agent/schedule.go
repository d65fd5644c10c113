package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

const (
	// maxCalls is how many calls of one turn are executed; the others are told so.
	maxCalls = 64
	// showCalls is after what time the states of calls that still run go into the log, instead of with their results.
	showCalls = time.Second
	// stopGrace is how long a call may take to return when it has been ended; then the agent continues without it.
	stopGrace = 15 * time.Second
)

// batch is the calls of one turn on their way to their results.
type batch struct {
	*Agent
	*states

	done    []outcome
	refused []string
	effect  []tool.Effect
	// reading is the calls that run beside others, waiting those that wait for another agent or a person; room bounds the first.
	reading, waiting sync.WaitGroup
	room             chan struct{}
	// waits is how many of the second were begun since the agent last rested, rested how long all that it did was wait.
	waits  int
	rested time.Duration
	// shown are the events that are in the log already, and that the agent has not folded yet: its tools may be looking at it.
	shown []contextscope.Event
	// panicked is the first panic of a call's goroutine.
	panicked atomic.Pointer[any]
}

// schedule carries a turn's calls out and returns what came of them, with the states that they went through and that are not
// in the log yet. The error is the log's.
func (a *Agent) schedule(ctx context.Context, calls []*genai.FunctionCall) ([]outcome, []contextscope.Event, error) {
	b := a.batch(calls)
	running, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		b.run(running)
	}()
	err := b.watch(ctx, finished, giveUp)
	if p := b.panicked.Load(); p != nil {
		panic(*p)
	}
	a.waited += b.rested
	var last []contextscope.Event
	if e, ok := b.event(); ok {
		last = append(last, e)
	}
	return b.done, last, errors.Join(err, a.fold(b.shown))
}

func (a *Agent) batch(calls []*genai.FunctionCall) *batch {
	b := &batch{
		Agent: a, done: make([]outcome, len(calls)), effect: make([]tool.Effect, len(calls)), refused: a.refusals(calls),
		room: make(chan struct{}, max(1, a.Bounds.Parallel)),
		states: &states{
			turn: a.session.turns, began: a.Clock(), clock: a.Clock, calls: calls, at: make([]wire.CallState, len(calls)),
		},
	}
	for i, call := range calls {
		// A call has the same name in every delivery. The id that the model gives it is no name: there may be none, or the same
		// one twice.
		b.ids = append(b.ids, fmt.Sprintf("%s-%d-%d", call.Name, a.session.calls, i))
		b.done[i].call = call
	}
	return b
}

// refusals says, call by call, why it is not executed; "" for those that are. The repeat that completes a loop is not: its
// result is known.
func (a *Agent) refusals(calls []*genai.FunctionCall) []string {
	out := make([]string, len(calls))
	guard := a.session.guard.Clone()
	stored, most := callsOf(a.session.open), a.Bounds.ToolCalls
	for i, call := range calls {
		strike := guard.Call(stored[i].Name, stored[i].Args)
		switch {
		case a.session.limit != "" && call.Name != spec.ToolSubmitResult:
			out[i] = "your limit is reached, and submit_result is the only tool that you can still call"
		case most > 0 && a.session.toolCalls+i >= most && call.Name != spec.ToolSubmitResult:
			out[i] = fmt.Sprintf("your limit of %d tool calls is reached", most)
		case i >= maxCalls:
			out[i] = fmt.Sprintf("one turn can make %d calls, and this one made %d: make the others in your next turn",
				maxCalls, len(calls))
		case strike != nil:
			out[i] = strike.Nudge()
		}
	}
	return out
}

// guarded runs a part of the turn. A panic in it is kept for the agent's own goroutine, where it ends the attempt: here it would
// end every agent of the worker.
func (b *batch) guarded(part func()) {
	defer func() {
		if p := recover(); p != nil {
			b.Log.Error().Bytes("stack", debug.Stack()).Msgf("a call panicked: %v", p)
			b.panicked.CompareAndSwap(nil, &p)
		}
	}()
	part()
}

// watch waits for the end, and puts the states into the log where it takes long to come. Where the log takes nothing more, the
// calls are given up: their results could not be kept.
func (b *batch) watch(ctx context.Context, finished <-chan struct{}, giveUp context.CancelCauseFunc) error {
	show := time.NewTicker(showCalls)
	defer show.Stop()
	for {
		select {
		case <-finished:
			return nil
		case <-show.C:
			e, ok := b.event()
			if !ok {
				continue
			}
			stored, err := b.Journal.Append(ctx, e)
			if err != nil {
				giveUp(err)
				<-finished
				return err
			}
			b.shown = append(b.shown, stored...)
		}
	}
}

// run takes the calls in their order: those that follow one another and write nothing run at once, up to the cap, one that
// writes runs alone. submit_result comes after all others, whatever its place: what it reports is their outcome.
func (b *batch) run(ctx context.Context) {
	for i := range b.calls {
		b.guarded(func() { b.validate(i) })
	}
	var submits []int
	for i := range b.calls {
		switch {
		case b.at[i] != wire.CallScheduled:
		case b.calls[i].Name == spec.ToolSubmitResult:
			submits = append(submits, i)
		case b.effect[i] == tool.Writes:
			b.settle()
			b.guarded(func() { b.execute(ctx, i) })
		case b.effect[i].Waiting():
			b.waits++
			b.waiting.Go(func() { b.guarded(func() { b.execute(ctx, i) }) })
		default:
			b.room <- struct{}{}
			b.reading.Go(func() {
				defer func() { <-b.room }()
				b.guarded(func() { b.execute(ctx, i) })
			})
		}
	}
	b.settle()
	b.kept = nil
	for i := range b.done {
		b.kept = append(b.kept, b.done[i].result.Kept...)
	}
	failed := b.failedWrites()
	for _, i := range submits {
		b.guarded(func() { b.submit(ctx, i, failed) })
	}
}

// failedWrites names the calls, beside submit_result, that were to change or check the tree and failed. A call that was not
// run counts too: what the agent submits relies on it.
func (b *batch) failedWrites() (failed []string) {
	for i, call := range b.calls {
		r := &b.done[i].result
		if call.Name != spec.ToolSubmitResult && b.effect[i] == tool.Writes && (r.Err || r.Red) {
			failed = append(failed, fmt.Sprintf("%s (call %d)", text.Short(text.OneLine(call.Name), maxNote), i+1))
		}
	}
	return failed
}

// submit runs submit_result, unless a call that it relies on failed.
func (b *batch) submit(ctx context.Context, i int, failed []string) {
	const most = 5
	why := "nothing was submitted: in the same turn failed " + strings.Join(text.Few(failed, most), ", ") +
		". Fix what these results report, then submit again."
	if len(failed) == 0 {
		why = b.await(ctx, i)
	}
	if why == "" {
		b.execute(ctx, i)
		return
	}
	b.done[i].result = b.Tools.Refuse(b.tell(i), why)
	b.move(i, wire.CallCancelled, errorOf(b.done[i].result))
}

// settle waits for what runs. Once there is nothing left but calls that wait for others, the agent takes no room.
func (b *batch) settle() {
	b.reading.Wait()
	if b.waits == 0 {
		return
	}
	began, goOn, resume := time.Now(), b.limit.Suspend(), b.Rest()
	b.waiting.Wait()
	resume()
	goOn()
	b.waits, b.rested = 0, b.rested+time.Since(began)
}

func (b *batch) tell(i int) tool.Call {
	return tool.Call{ID: b.ids[i], Name: b.calls[i].Name, Args: b.calls[i].Args}
}

// validate finds everything that is wrong with a call before any of the turn runs.
func (b *batch) validate(i int) {
	b.move(i, wire.CallValidating, "")
	b.effect[i] = b.Tools.Effect(b.tell(i))
	why := b.refused[i]
	if why == "" {
		if err := b.Tools.Check(b.tell(i)); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		b.done[i].result = b.Tools.Refuse(b.tell(i), why)
		b.move(i, wire.CallError, text.Tail(why, maxNote))
		return
	}
	b.done[i].writes = b.effect[i] == tool.Writes
	b.move(i, wire.CallScheduled, "")
}

// execute runs one call under its own time. Whatever goes wrong with it is a result that the model can read.
func (b *batch) execute(ctx context.Context, i int) {
	c := b.tell(i)
	if ctx.Err() != nil {
		b.done[i].result = tool.Failed("%s was not begun: %v", c.Name, context.Cause(ctx))
		b.move(i, wire.CallCancelled, fmt.Sprint(context.Cause(ctx)))
		return
	}
	doing := b.Tools.Doing(c)
	b.move(i, wire.CallExecuting, doing)
	b.Doing(doing)
	if b.effect[i] == tool.Asks {
		b.move(i, wire.CallAwaiting, doing)
	}
	r, state, note := b.call(ctx, c, b.effect[i])
	b.done[i].result = r
	b.move(i, state, text.Tail(note, maxNote))
}

// call carries a call out. One that waits for others has no time of its own.
func (b *batch) call(ctx context.Context, c tool.Call, effect tool.Effect) (tool.Result, wire.CallState, string) {
	own := ctx
	if !effect.Waiting() {
		var stop func()
		own, stop = b.timed(ctx)
		defer stop()
	}
	r := b.bounded(own, c)
	switch cause := context.Cause(own); {
	case errors.Is(cause, limit.ErrTool):
		r = instead(r, "%s was ended after %s", c.Name, b.Bounds.Tool)
	case errors.Is(cause, limit.ErrMute):
		r = instead(r, "%s was ended: it showed no sign of life for %s", c.Name, b.Bounds.Idle)
	case cause != nil:
		return r, wire.CallCancelled, cause.Error()
	}
	if r.Err {
		return r, wire.CallError, errorOf(r)
	}
	return r, wire.CallSuccess, ""
}

// timed gives a call its own time and its longest silence. Neither continues while the call is in a queue.
func (b *batch) timed(ctx context.Context) (_ context.Context, stop func()) {
	ctx, whole := limit.NewDeadline(ctx, b.Bounds.Tool, limit.ErrTool, nil)
	ctx, mute := limit.NewDeadline(ctx, b.Bounds.Idle, limit.ErrMute, nil)
	ctx = tool.WithBeat(ctx, func(note string) {
		mute.Restart(b.Bounds.Idle)
		if note != "" {
			b.Doing(note)
		}
	})
	ctx = tool.WithQueue(ctx, func() (resume func()) {
		a, b := whole.Suspend(), mute.Suspend()
		return func() { a(); b() }
	})
	return ctx, func() { mute.Stop(); whole.Stop() }
}

func errorOf(r tool.Result) string {
	s, _ := r.Output["error"].(string)
	return s
}

// bounded runs a call, but does not wait for ever for one that was ended and does not return.
func (b *batch) bounded(ctx context.Context, c tool.Call) tool.Result {
	out := make(chan tool.Result, 1)
	go func() {
		r := tool.Failed("%s broke down", c.Name)
		defer func() { out <- r }()
		b.guarded(func() { r = b.Tools.Run(ctx, c) })
	}()
	select {
	case r := <-out:
		return r
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case r := <-out:
		return r
	case <-grace.C:
		b.Log.Error().Str("tool", c.Name).Msg("tool ignored its cancellation; the agent continues without it")
		return tool.Failed("%s did not stop when it was told to", c.Name)
	}
}
