package subagents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/internal/spec"
)

// The causes with which the runtime ends a context.
var (
	errTime = errors.New("the attempt's time is over")
	errIdle = errors.New("the model said nothing for too long")
	errTool = errors.New("the tool took too long")
)

// Bounds are the limits of one attempt, all set.
type Bounds struct {
	// Turns counts model calls, discarded ones too; Tokens is prompt plus output, 0 means no limit.
	Turns  int
	Tokens int
	// Time is the wall clock of the attempt, of which Used was spent by earlier deliveries.
	Time time.Duration
	Used time.Duration
	// Idle is how long a model call may stream nothing. It is the backstop of the model's own watch, so it is long. Tool is the
	// time of one tool call.
	Idle time.Duration
	Tool time.Duration
	// Parallel is how many read-only calls run at once.
	Parallel int
}

// The limits where neither task, role nor project says anything.
const (
	defaultTurns    = 60
	defaultTime     = 45 * time.Minute
	defaultIdle     = 15 * time.Minute
	defaultTool     = 10 * time.Minute
	defaultParallel = 4
)

// boundsOf returns the limits of a task: its own, else its role's, else the project's, else the built-in ones.
func boundsOf(task *spec.Task, role *spec.Role, project *spec.Project, used time.Duration) Bounds {
	l := task.Limits.Or(role.Limits).Or(project.Limits)
	l = l.Or(spec.Limits{Turns: defaultTurns, Time: spec.Duration(defaultTime)})
	return Bounds{
		Turns: l.Turns, Tokens: l.Tokens, Time: l.Time.Std(), Used: used,
		Idle: defaultIdle, Tool: defaultTool, Parallel: defaultParallel,
	}
}

// left is the wall clock that this delivery has.
func (b Bounds) left() time.Duration { return max(0, b.Time-b.Used) }

// deadline returns a context that ends, with errTime as its cause, when the attempt's time is over.
func (b Bounds) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.left(), errTime)
}

// reached returns the fault of the limit that is used up, or nil.
func (b Bounds) reached(calls int, usage spec.Usage) *spec.Fault {
	switch {
	case calls >= b.Turns:
		return &spec.Fault{Class: faultTurns, Message: fmt.Sprintf("no result after %d turns", calls)}
	case b.Tokens > 0 && usage.Total() >= b.Tokens:
		return &spec.Fault{
			Class:   faultTokens,
			Message: fmt.Sprintf("no result after %d of %d tokens", usage.Total(), b.Tokens),
		}
	}
	return nil
}

// wrapUp is the share of a limit, in percent, after which an agent is told to come to an end.
const wrapUp = 85

// near says which limit is near, in words, or "".
func (b Bounds) near(calls int, usage spec.Usage, worked time.Duration) string {
	switch {
	case b.Turns > 2 && b.Turns-calls <= 2:
		return fmt.Sprintf("%d of %d turns are used", calls, b.Turns)
	case b.Tokens > 0 && usage.Total() >= b.Tokens/100*wrapUp:
		return fmt.Sprintf("%d of %d tokens are used", usage.Total(), b.Tokens)
	case b.Used+worked >= b.Time/100*wrapUp:
		return fmt.Sprintf("%s of %s are over", (b.Used + worked).Round(time.Second), b.Time)
	}
	return ""
}
