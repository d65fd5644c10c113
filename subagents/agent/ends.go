package agent

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
)

const (
	// maxReminders is how often in a row an agent that stops without a result is reminded.
	maxReminders = 2
	// maxSaid bounds, in bytes, what a failed attempt keeps of the agent's last words.
	maxSaid = 4 << 10
)

// exhausted returns how the attempt ends now, or nil when it continues.
func (a *Agent) exhausted() *limit.Ending {
	s := a.session
	switch {
	case s.fault != nil && s.discarded >= policyOf(s.fault.Class).tries():
		p := policyOf(s.fault.Class)
		return &limit.Ending{Status: p.status, Fault: spec.Fault{Class: p.class, Message: s.fault.Message}}
	case s.strike != nil && s.strike.N > 1:
		return &limit.Ending{Status: spec.StatusFailed, Fault: spec.Fault{
			Class: wire.FaultLoop, Message: "the agent went round in a circle, after a warning too: " + s.strike.Detail,
		}}
	case s.limit != "" && (s.overtime > maxOvertime || s.overtime > 0 && s.fault == nil && !s.submitting):
		return &limit.Ending{Status: spec.StatusTimedOut, Fault: a.Bounds.Over(s.limit, a.spent())}
	case s.silent && s.reminders >= maxReminders:
		return &limit.Ending{Status: spec.StatusFailed, Fault: spec.Fault{
			Class:   wire.FaultNoResult,
			Message: fmt.Sprintf("the agent stopped without calling submit_result, after %d reminders", s.reminders),
		}}
	}
	return nil
}

// maxOvertime is how many turns after a limit count as the wrap-up turn: one whose result is refused may be put right once.
const maxOvertime = 1

// nudge returns the words that the runtime has for the agent before its next turn, and why; no reason when there are none.
func (a *Agent) nudge() (text string, why wire.Nudge) {
	s := a.session
	if s.strike != nil {
		return s.strike.Nudge(), wire.Nudge{
			Reason: wire.ReasonLoop, Class: s.strike.Kind, Detail: s.strike.Detail, Strike: s.strike.N,
		}
	}
	if s.limit == "" {
		if class := a.limitReached(); class != "" {
			return limitText(a.Bounds.Over(class, a.spent()).Message), wire.Nudge{Reason: wire.ReasonLimit, Class: class}
		}
	}
	if s.silent {
		return "You stopped without calling submit_result. If your work is done, call submit_result now; if not, continue with " +
			"it. Text alone has no reader.", wire.Nudge{Reason: wire.ReasonReminder}
	}
	near := a.Bounds.Near(a.spent(), a.Clock().Sub(a.began)-a.waited)
	if near != "" && !s.wrapped && s.limit == "" {
		return "Your limit is near: " + near + ". Finish now: complete your current step and call submit_result with the " +
			"finished and the remaining work.", wire.Nudge{Reason: wire.ReasonWrapUp}
	}
	return "", wire.Nudge{}
}

// limitReached returns the class of the limit that leaves room for the wrap-up turn alone, or "".
func (a *Agent) limitReached() string {
	s := a.session
	switch {
	case a.late:
		return wire.FaultTime
	case s.fault != nil && (s.fault.Class == wire.FaultIdle || s.fault.Class == wire.FaultCall) && s.discarded == maxDiscarded-1:
		return s.fault.Class
	}
	return a.Bounds.Reached(a.spent())
}

func limitText(message string) string {
	return "Your limit is reached: " + message + ". This is your last turn, and submit_result the only tool that you can still " +
		"call. Call it now, with the finished work, your findings and the remaining work."
}

// plans reports whether the role has the dispatch tool. For such a role words are an answer: a turn without a call ends the
// attempt, and only submit_result ends the work.
func (a *Agent) plans() bool {
	_, err := a.Tools.Lookup(spec.ToolDispatch)
	return err == nil
}

// finished makes the result of an agent that ended by itself. Nothing is computed again: the turn's tool event holds it all.
func (a *Agent) finished() (*spec.Result, error) {
	end := a.session.end
	return &spec.Result{
		Status: spec.StatusDone, Handoff: end.Handoff, Plan: end.Plan, Final: end.Final, Patch: a.session.tree,
		LimitHit: a.session.limit, HandedOver: end.HandedOver,
	}, nil
}

// failed makes the result of an attempt that the runtime ends. The fault reports the partial work, which never lands.
func (a *Agent) failed(ctx context.Context, end limit.Ending) (*spec.Result, error) {
	r := &spec.Result{Status: end.Status, Error: &end.Fault, Handoff: spec.Handoff{
		Summary: text.Tail(a.session.said, maxSaid), Artifacts: withSaved(nil, a.session.saved),
	}}
	if a.Tree == nil || end.Fault.Detail != "" {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit.SaveTime)
	defer cancel()
	diff, err := a.Tree.Diff(ctx, limit.MaxDiff)
	if err != nil {
		a.Log.Warn().Err(err).Msg("the partial work could not be read")
		return r, nil
	}
	if diff != "" {
		r.Error.Detail = "What it had changed by then:\n" + diff
	}
	return r, nil
}

// interrupted turns what broke the loop into a result, where it is one.
func (a *Agent) interrupted(ctx context.Context, err error) (spec.Result, error) {
	if errors.Is(err, bus.ErrFenced) || errors.Is(err, ErrStopped) {
		return spec.Result{}, err
	}
	cause := context.Cause(ctx)
	if cause == nil && errors.Is(err, limit.ErrTime) {
		cause = limit.ErrTime
	}
	end := limit.EndingOf(cause, a.Bounds)
	if end == nil {
		return spec.Result{}, errors.Join(cause, err)
	}
	r, err := a.failed(ctx, *end)
	if err != nil {
		return spec.Result{}, err
	}
	return *r, nil
}
