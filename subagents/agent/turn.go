package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/lazyregexp"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/loopguard"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// turn asks the model once and appends its answer, with its cost, in one message. An answer that cannot be used becomes an
// error event, with its cost too.
func (a *Agent) turn(ctx context.Context) error {
	a.Doing("thinking")
	tail, err := a.tail(ctx)
	if err != nil {
		return err
	}
	in := a.input()
	in.Tail = tail
	compiled := a.Compiler.Compile(in)
	if compiled.Over > 0 {
		return a.discard(ctx, tail.Recall, &unusableError{fault: spec.Fault{Class: string(model.TooLong), Message: fmt.Sprintf(
			"the request has about %d tokens, %d more than the window of %d", compiled.Tokens, compiled.Over, a.Input.Window)}})
	}
	req, err := a.request(ctx, compiled)
	if err != nil {
		return err
	}
	began, waited := time.Now(), a.waited
	res, err := a.ask(ctx, req)
	if cause := context.Cause(ctx); err != nil && cause != nil { // the answer is no longer wanted
		return a.unused(ctx, unusable(err).paid, cause)
	}
	if err != nil {
		return a.discard(ctx, tail.Recall, unusable(err))
	}
	if !substance(res.Content) {
		none := spec.Fault{Class: wire.FaultEmpty, Message: "the answer was empty"}
		return a.discard(ctx, tail.Recall, &unusableError{fault: none, paid: res.Usage.Add(res.Wasted)})
	}
	data := wire.Turn{
		Model: res.Model, ResponseID: res.ResponseID, Finish: string(res.Finish), Recall: tail.Recall, Unsigned: res.Unsigned,
	}
	turn := wire.Draft(contextscope.KindTurn, data)
	turn.Content = res.Content
	paid := wire.Spent{
		Usage: res.Usage.Add(res.Wasted), Model: res.StandIn, Tier: res.Tier, Bytes: compiled.Bytes,
		Took:  max(0, time.Since(began)-(a.waited-waited)),
		Price: a.row(res.Model, a.Assignment.Role.Model),
	}
	if res.StandIn != "" {
		paid.Price = a.row(res.StandIn)
	}
	if err := a.append(ctx, turn, wire.Draft(contextscope.KindUsage, paid)); err != nil {
		return err
	}
	a.whole = res.Content
	return nil
}

// unused notes what was paid for a call that was broken off.
func (a *Agent) unused(ctx context.Context, paid spec.Usage, cause error) error {
	if paid == (spec.Usage{}) {
		return cause
	}
	return errors.Join(cause, a.append(ctx, a.spentEvent(paid, "")))
}

// request makes the call of a compiled request, once it is this agent's turn among the siblings of its prefix.
func (a *Agent) request(ctx context.Context, compiled contextscope.Request) (*model.Request, error) {
	if a.sibling == nil {
		var err error
		if a.sibling, err = a.Siblings.enter(ctx, a.Call.Model, compiled.PrefixDigest, compiled.PrefixTokens); err != nil {
			return nil, err
		}
	}
	req := a.Call.request(compiled, a.Assignment, a.session.calls+1, a.session.limit != "")
	if a.session.invalid() {
		a.Log.Warn().Str("fault", a.session.fault.Message).Msg("request called invalid: sending it again without extras")
		makePlain(req)
	}
	return req, nil
}

// makePlain takes from a request what a service may refuse for reasons of its own: signatures, thinking level and tier.
func makePlain(req *model.Request) {
	req.Contents, req.Config.ThinkingConfig = model.StripSignatures(req.Contents), nil
	req.Config.ServiceTier = ""
}

// ask streams one answer, watched for silence, for its length in time and for loops. The time of a rate limit is given back
// to the attempt.
func (a *Agent) ask(ctx context.Context, req *model.Request) (*model.Result, error) {
	defer a.giveBack(time.Now())
	ctx, whole := limit.NewDeadline(ctx, a.Bounds.Call, limit.ErrCall, a.RateLimit)
	defer whole.Stop()
	whole.ExcludeLimits()
	ctx, idle := limit.NewDeadline(ctx, a.Bounds.Idle, limit.ErrIdle, a.RateLimit)
	defer idle.Stop()
	idle.ExcludeLimits()
	heard := &listener{session: a.session.guard, guard: a.session.guard.Clone()}
	for ev, err := range a.Model.Generate(ctx, req) {
		if err != nil {
			a.sibling.stepAside()
		} else {
			a.sibling.warm()
		}
		switch {
		case err != nil:
			return nil, a.broken(context.Cause(ctx), err, heard)
		case ev.Result != nil && heard.strike != nil: // it was faster than the breaking off
			return nil, &unusableError{fault: heard.fault(), paid: ev.Result.Usage.Add(ev.Result.Wasted)}
		case ev.Result != nil:
			return ev.Result, nil
		}
		idle.Restart(a.Bounds.Idle)
		a.Doing(sayDelta(ev.Delta))
		if heard.struck(ev) {
			idle.End(limit.ErrLoop)
		}
	}
	return nil, &model.Error{Class: model.Truncated, Message: "the answer ended without a result"}
}

// broken reports why a call failed, where the reason is one of ours.
func (a *Agent) broken(cause, err error, heard *listener) error {
	f := spec.Fault{}
	switch {
	case errors.Is(cause, limit.ErrIdle):
		f.Class, f.Message = wire.FaultIdle, fmt.Sprintf("the model said nothing for %s", a.Bounds.Idle)
	case errors.Is(cause, limit.ErrCall):
		f.Class, f.Message = wire.FaultCall, fmt.Sprintf("the model's answer took longer than %s", a.Bounds.Call)
	case errors.Is(cause, limit.ErrLoop):
		f = heard.fault()
	default:
		return err
	}
	return &unusableError{f, model.AsError(err).Usage, model.AsError(err).Estimated}
}

// unusableError is an answer that does not count.
type unusableError struct {
	fault spec.Fault
	paid  spec.Usage
	// estimated reports that some of what was paid is what was reserved.
	estimated bool
}

// Error reports why it does not count.
func (e *unusableError) Error() string { return e.fault.Class + ": " + e.fault.Message }

func unusable(err error) *unusableError {
	var u *unusableError
	if errors.As(err, &u) {
		return u
	}
	e := model.AsError(err)
	return &unusableError{spec.Fault{Class: string(e.Class), Message: e.Message}, e.Usage, e.Estimated}
}

// giveBack puts the attempt's end off by the time of rate limits since begin.
func (a *Agent) giveBack(begin time.Time) {
	waited := limit.LimitedBetween(a.RateLimit, begin)
	a.waited += waited
	a.limit.PutOff(waited)
}

// sayDelta tells in a few words what a part of an answer is.
func sayDelta(p *genai.Part) string {
	switch {
	case p == nil, p.Thought:
		return "thinking"
	case p.FunctionCall != nil:
		return "calls " + p.FunctionCall.Name
	default:
		return "writing"
	}
}

// discard appends a failed call as an error event; where the call will be tried again, with words that say what was wrong. Of a
// loop the guard has words of its own.
func (a *Agent) discard(ctx context.Context, recall []contextscope.Recalled, u *unusableError) error {
	events := []contextscope.Event{wire.Draft(contextscope.KindError, wire.Unanswered{Fault: u.fault, Recall: recall})}
	if u.paid != (spec.Usage{}) {
		row := a.row(a.Assignment.Role.Model)
		events = append(events, wire.Draft(contextscope.KindUsage, wire.Spent{Usage: u.paid, Price: row, Estimated: u.estimated}))
	}
	a.Log.Info().Str("class", u.fault.Class).Int("call", a.session.calls+1).Msg("model answer discarded")
	if p := policyOf(u.fault.Class); p.retry && a.session.discarded+1 < p.tries() && u.fault.Class != wire.FaultLoop {
		nudge := wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonRetry})
		nudge.Content = userText(retryText(u.fault))
		events = append(events, nudge)
	}
	return a.append(ctx, events...)
}

func retryText(f spec.Fault) string {
	if f.Class == string(model.MalformedCall) {
		return "Your last answer was discarded: its tool calls could not be read. None of them ran. Make the call again with " +
			"smaller, well-formed arguments: several small edits instead of one big one."
	}
	return "Your last answer was discarded: " + narrative.Line(f.Message) + ". Nothing of it counts. Answer again, with " +
		"shorter steps."
}

// spentEvent is the cost of a call, with the model where that was not the agent's own.
func (a *Agent) spentEvent(u spec.Usage, name string) contextscope.Event {
	row := a.row(cmp.Or(name, a.Assignment.Role.Model))
	return wire.Draft(contextscope.KindUsage, wire.Spent{Usage: u, Model: name, Price: row})
}

// row is the id of the price of the first of some models that has one.
func (a *Agent) row(names ...string) string {
	return model.RowOf(&a.Assignment.Project, a.Clock(), names...)
}

// substance reports whether an answer holds anything to act on: a call, or words that can be seen and are no comment.
func substance(c *genai.Content) bool {
	return c != nil && (len(callsOf(c)) > 0 || strings.ContainsFunc(comments.ReplaceAllString(content.Text(c), ""), seen))
}

// comments carry no answer: those of Markdown, which has them as HTML does, and of code.
var comments = lazyregexp.New(`(?s)<!--.*?(?:-->|\z)|/\*.*?(?:\*/|\z)|(?m:^[ \t]*//[^\n]*$)`)

// seen reports whether a character leaves a mark: a braille pattern and a filler of Hangul can be blank too.
func seen(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != '\u2800' &&
		!unicode.In(r, unicode.M, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// listener checks an answer while it streams, so that one that repeats itself is stopped before all of it is paid for.
// Its findings go with the answer: the session gets the answer once it is in the log.
type listener struct {
	session *loopguard.Guard
	guard   *loopguard.Guard
	strike  *loopguard.Strike
}

// struck takes a step of the answer in and reports whether it has closed a circle.
func (l *listener) struck(ev model.Event) bool {
	if ev.Restart {
		l.guard = l.session.Clone()
	}
	if ev.Delta == nil || ev.Delta.Text == "" || l.strike != nil {
		return false
	}
	l.strike = say(l.guard, ev.Delta)
	return l.strike != nil
}

// fault is why an answer that has closed a circle is discarded; its detail is the kind of the loop.
func (l *listener) fault() spec.Fault {
	return spec.Fault{Class: wire.FaultLoop, Message: l.strike.Detail, Detail: l.strike.Kind}
}
