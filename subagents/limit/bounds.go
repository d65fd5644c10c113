// Package limit bounds one attempt: turns, tokens, time, calls and silence. Its input are the limits of task, role and
// project and what the attempt has used; its output whether a bound is reached, and contexts that end with the cause. It
// never decides what follows: the executors do.
package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// The causes with which the runtime ends a context.
var (
	ErrTime = errors.New("the attempt's time is over")
	ErrIdle = errors.New("the model said nothing for too long")
	ErrCall = errors.New("the model's answer took too long")
	ErrTool = errors.New("the tool took too long")
	ErrMute = errors.New("the tool showed no sign of life for too long")
	ErrLoop = errors.New("the answer repeats itself")
)

// Bounds are the limits of one attempt, all set.
type Bounds struct {
	// Turns counts model calls, discarded ones too; ToolCalls the calls that they made, and Tokens is prompt plus output: for
	// both 0 means no limit.
	Turns     int
	ToolCalls int
	Tokens    int
	// Time is the wall clock of the attempt, and Used what earlier deliveries spent of it.
	Time time.Duration
	Used time.Duration
	// Idle is how long a model call, or a tool call, may show no sign of life. It is the backstop of the model's own watch, so
	// it is long. Call is the time of one model call, Tool of one tool call.
	Idle time.Duration
	Call time.Duration
	Tool time.Duration
	// Parallel is how many calls that only read run at once.
	Parallel int
}

// The limits where neither task, role nor project says anything. A project that was read from files always says its own turns and
// time, which are the same.
const (
	defaultTurns    = 50
	defaultTime     = 30 * time.Minute
	defaultIdle     = 15 * time.Minute
	defaultCall     = 30 * time.Minute
	defaultTool     = 10 * time.Minute
	defaultParallel = 4
)

// Of returns the limits of a task: its own, else its role's, else the project's, else the built-in ones.
func Of(task *spec.Task, role *spec.Role, project *spec.Project, used time.Duration) Bounds {
	l := task.Limits.Or(role.Limits).Or(project.Limits).Or(spec.Limits{
		Turns: defaultTurns, Time: spec.Duration(defaultTime), Idle: spec.Duration(defaultIdle),
		Call: spec.Duration(defaultCall), Tool: spec.Duration(defaultTool),
	})
	return Bounds{
		Turns: l.Turns, ToolCalls: l.ToolCalls, Tokens: l.Tokens, Time: l.Time.Std(), Used: used,
		Idle: l.Idle.Std(), Call: l.Call.Std(), Tool: l.Tool.Std(), Parallel: defaultParallel,
	}
}

// Left is the wall clock that this delivery has.
func (b Bounds) Left() time.Duration { return max(0, b.Time-b.Used) }

// Deadline returns a context that ends, with ErrTime as its cause, when the attempt's time is over.
func (b Bounds) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.Left(), ErrTime)
}

// maxGrace bounds the time that is kept for the wrap-up turn; graceShare is the part of a short attempt's time, one in so many.
const (
	maxGrace   = time.Minute
	graceShare = 10
)

// Grace is the part of the wall clock that is kept for the wrap-up turn.
func (b Bounds) Grace() time.Duration { return min(maxGrace, b.Time/graceShare) }

// Spent is the use of an attempt's limits. Request is about what its next call takes, in tokens.
type Spent struct {
	Calls, ToolCalls int
	Usage            spec.Usage
	Request          int
}

// answerReserve is the estimate for the wrap-up turn's answer, in tokens.
const answerReserve = 4096

// Reached returns the class of the limit before which only the wrap-up turn has room, or "".
func (b Bounds) Reached(s Spent) string {
	switch {
	case s.Calls >= b.Turns-1:
		return wire.FaultTurns
	case b.Tokens > 0 && s.Usage.Total()+min(2*s.Request+answerReserve, b.Tokens/4) >= b.Tokens && s.Calls > 0:
		return wire.FaultTokens
	case b.ToolCalls > 0 && s.ToolCalls >= b.ToolCalls:
		return wire.FaultToolCalls
	}
	return ""
}

// Over is the fault of an attempt that reached a limit and handed nothing in.
func (b Bounds) Over(class string, s Spent) spec.Fault {
	f := spec.Fault{Class: class}
	switch class {
	case wire.FaultTurns:
		f.Message = fmt.Sprintf("no result after %d turns", s.Calls)
	case wire.FaultTokens:
		f.Message = fmt.Sprintf("no result after %d of %d tokens", s.Usage.Total(), b.Tokens)
	case wire.FaultToolCalls:
		f.Message = fmt.Sprintf("no result after %d of %d tool calls", min(s.ToolCalls, b.ToolCalls), b.ToolCalls)
	case wire.FaultTime:
		f.Message = fmt.Sprintf("no result after %s", b.Time)
	case wire.FaultIdle:
		f.Message = fmt.Sprintf("no result: the model said nothing for %s, again and again", b.Idle)
	case wire.FaultCall:
		f.Message = fmt.Sprintf("no result: the model's answers took longer than %s", b.Call)
	}
	return f
}

// wrapUp is the share of a limit, in percent, after which an agent is told to come to an end.
const wrapUp = 85

// Near reports which limit is near, in words, or "".
func (b Bounds) Near(s Spent, worked time.Duration) string {
	switch {
	case b.Turns > 2 && b.Turns-s.Calls <= 2:
		return fmt.Sprintf("%d of %d turns are used", s.Calls, b.Turns)
	case b.Tokens > 0 && s.Usage.Total() >= b.Tokens/100*wrapUp:
		return fmt.Sprintf("%d of %d tokens are used", s.Usage.Total(), b.Tokens)
	case b.ToolCalls > 0 && s.ToolCalls >= b.ToolCalls*wrapUp/100:
		return fmt.Sprintf("%d of %d tool calls are used", s.ToolCalls, b.ToolCalls)
	case b.Used+worked >= b.Time/100*wrapUp:
		return fmt.Sprintf("%s of %s are over", (b.Used + worked).Round(time.Second), b.Time)
	}
	return ""
}
