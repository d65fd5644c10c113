package compact

import (
	"context"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/internal/model"
	"divisi/internal/spec"
)

// Session is an agent's session before a model call.
type Session struct {
	// Events are all of it, earlier compactions and their failures among them.
	Events []contextscope.Event
	// Tokens is the estimate of the whole request that would be sent now, Window the window of the agent's own model.
	Tokens, Window int
	Facts          compaction.Facts
	// TooLong reports that the server refused that request as too long.
	TooLong bool
}

// Runner compacts one agent's session. It is owned by the agent's goroutine, and keeps no truth of its own: what counts is in
// the log. An attempt in the background is lost with it and no more.
type Runner struct {
	compactor *Compactor
	rules     spec.CompactionRules
	after     int
	meta      model.Meta
	// attempt is the one in the background; nil while there is none.
	attempt *attempt
}

// attempt is one compaction being written in the background.
type attempt struct {
	cancel context.CancelFunc
	// done is closed when the fields below it are set.
	done  chan struct{}
	rec   contextscope.Compaction
	usage spec.Usage
	err   error

	// effective counts the compactions that were in effect when it began, paid reports that its usage was dispatched.
	effective int
	paid      bool
}

// NewRunner makes the runner of one agent; rules are the role's, meta names the agent's work.
func NewRunner(compactor *Compactor, rules spec.ContextRules, meta model.Meta) *Runner {
	rules = rules.WithDefaults()
	return &Runner{compactor: compactor, rules: rules.Compaction, after: rules.CompactAfter, meta: meta}
}

// Boundary is called before each model call. The caller appends what it returns, usage even beside an error, and calls again
// with the session as it is then, until no records come back: each call takes one step. With TooLong set and no records,
// nothing more can be done. It blocks only beyond the hard limit or with TooLong. An attempt that it begins in the background
// lives as long as ctx, which therefore is the agent's and not the turn's. The error is the cause of ctx.
func (r *Runner) Boundary(ctx context.Context, s Session) (records []contextscope.Compaction, usage []spec.Usage, err error) {
	attempted, effective := attempts(s.Events)
	var st State
	st.TooLong = s.TooLong
	st.Taken, st.Failed = lately(s.Events, s.Window)
	st.Due = due(s.Events, r.after)
	meta := r.meta
	meta.Turn = 2*attempted + 1
	for {
		failed := r.settle(effective, &usage)
		if failed != nil {
			return []contextscope.Compaction{*failed}, usage, nil
		}
		st.Phase = r.phase()
		switch Decide(s.Tokens, s.Window, r.rules, st) {
		case Begin:
			r.begin(ctx, s, effective, meta)
		case SwapIn:
			records = append(records, r.attempt.rec)
			r.attempt = nil
		case Wait:
			select {
			case <-r.attempt.done:
				continue
			case <-ctx.Done():
				return nil, usage, context.Cause(ctx)
			}
		case RunNow:
			return r.run(ctx, s, meta, usage)
		case Prune:
			records = r.prune(s)
		case Nothing:
		}
		return records, usage, nil
	}
}

// Model is the model that writes the snapshots.
func (r *Runner) Model() string { return r.compactor.cfg.ModelName }

// Close ends the attempt in the background and waits for it. It returns what of its cost no boundary has reported. The runner
// can be used again.
func (r *Runner) Close() spec.Usage {
	a := r.attempt
	r.attempt = nil
	if a == nil {
		return spec.Usage{}
	}
	a.cancel()
	<-a.done
	if a.paid {
		return spec.Usage{}
	}
	return a.usage
}

func (r *Runner) phase() Phase {
	switch {
	case r.attempt == nil:
		return Idle
	case r.attempt.paid:
		return Ready
	default:
		return Running
	}
}

// settle looks whether the attempt has ended: its cost is reported at once, a failure is recorded at once, and a snapshot is
// kept while no other compaction has come into effect since it began.
func (r *Runner) settle(effective int, usage *[]spec.Usage) (failed *contextscope.Compaction) {
	a := r.attempt
	if a == nil {
		return nil
	}
	select {
	case <-a.done:
	default:
		return nil
	}
	if !a.paid && a.usage != (spec.Usage{}) {
		*usage = append(*usage, a.usage)
	}
	a.paid = true
	switch {
	case a.err != nil || a.effective != effective:
		r.attempt = nil
	case !a.rec.Effective():
		r.attempt = nil
		return &a.rec
	}
	return nil
}

func (r *Runner) begin(ctx context.Context, s Session, effective int, meta model.Meta) {
	job, ok := compaction.Plan(s.Events, r.plan(s))
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{cancel: cancel, done: make(chan struct{}), effective: effective}
	r.attempt = a
	go func() {
		defer close(a.done)
		defer cancel()
		a.rec, a.usage, a.err = r.compactor.Snapshot(ctx, job, meta)
	}()
}

// run has a snapshot written now; where there is nothing to write one of, the history is pruned.
func (r *Runner) run(
	ctx context.Context, s Session, meta model.Meta, usage []spec.Usage,
) ([]contextscope.Compaction, []spec.Usage, error) {
	job, ok := compaction.Plan(s.Events, r.plan(s))
	if !ok {
		return r.prune(s), usage, nil
	}
	rec, paid, err := r.compactor.Snapshot(ctx, job, meta)
	if paid != (spec.Usage{}) {
		usage = append(usage, paid)
	}
	if err != nil {
		return nil, usage, err
	}
	return []contextscope.Compaction{rec}, usage, nil
}

func (r *Runner) plan(s Session) compaction.PlanInput {
	return compaction.PlanInput{Rules: r.rules, Trigger: r.trigger(s), Facts: s.Facts}
}

// prune shortens the history to where compaction would begin, or to half of what the server refused; but at a time never to
// less than the share that a snapshot would leave.
func (r *Runner) prune(s Session) []contextscope.Compaction {
	shown := compaction.ShownTokens(s.Events)
	tokens := max(s.Tokens, shown)
	want := int(r.rules.Start * float64(s.Window))
	if s.TooLong {
		want = tokens / 2
	}
	rec, ok := compaction.Prune(s.Events, compaction.PruneInput{
		Target: max(shown-(tokens-want), int(r.rules.Keep*float64(shown))), Trigger: r.trigger(s), Facts: s.Facts,
	})
	if !ok {
		return nil
	}
	r.compactor.cfg.Log.Info().Int("to", rec.To).Int("masked", len(rec.Masked)).Int("before", rec.Before).
		Int("after", rec.After).Msg("history pruned")
	return []contextscope.Compaction{rec}
}

func (r *Runner) trigger(s Session) string {
	switch {
	case s.TooLong:
		return contextscope.TriggerTooLong
	case float64(s.Tokens) >= r.rules.Hard*float64(s.Window):
		return contextscope.TriggerLimit
	case float64(s.Tokens) < r.rules.Start*float64(s.Window):
		return contextscope.TriggerTurns
	default:
		return contextscope.TriggerShare
	}
}
