package agent

import (
	"context"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/compact"
	"divisi/subagents/limit"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
)

// pinnedShare is the part of a window, one in so many, up to which constraints are pinned to snapshots; bytesToken the fixed
// estimate of a token.
const (
	pinnedShare = 20
	bytesToken  = 4
)

// compacted lets the history become shorter where its size asks for it. It reports whether it did: then the session is
// inspected again. The background attempt that it may begin lives as long as ctx.
func (a *Agent) compacted(ctx context.Context) (bool, error) {
	if a.Compact == nil {
		return false, nil
	}
	s := compact.Session{
		Events: a.events, Tokens: a.Compiler.Tokens(a.input()), Window: a.Input.Window, TooLong: a.session.tooLong(),
	}
	brief := a.Input.Brief
	// Every request has the constraints in its prefix too: they are not worth a snapshot that is no smaller for them.
	rules := spec.Rules(brief.Constraints, brief.Task.Constraints)
	if len(strings.Join(rules, "\n")) <= s.Window/pinnedShare*bytesToken {
		s.Facts.Constraints = rules
	}
	if a.session.tree != nil {
		s.Facts.Files = a.session.tree.Files
	}
	if s.Window > 0 && float64(s.Tokens) >= a.Input.Role.Context.WithDefaults().Compaction.Hard*float64(s.Window) {
		a.Doing("compacting its history")
	}
	defer a.giveBack(time.Now())
	records, usage, err := a.Compact.Boundary(ctx, s)
	events := make([]contextscope.Event, 0, len(records)+len(usage))
	for _, r := range records {
		events = append(events, wire.Draft(contextscope.KindCompaction, r))
	}
	for _, u := range usage {
		events = append(events, a.spentEvent(u, a.Compact.Model()))
	}
	if len(events) > 0 {
		if err := a.append(ctx, events...); err != nil {
			return false, err
		}
	}
	return len(records) > 0, err
}

// settle ends what is going on in the background, and keeps what it cost.
func (a *Agent) settle(ctx context.Context) {
	if a.Compact == nil {
		return
	}
	usage := a.Compact.Close()
	if usage == (spec.Usage{}) {
		return
	}
	if err := a.append(ctx, a.spentEvent(usage, a.Compact.Model())); err != nil {
		a.Log.Warn().Err(err).Msg("the cost of a late compaction could not be kept")
	}
}

// NewCompactor returns the runner that compacts an attempt's history.
func NewCompactor(m model.Model, a *wire.Assignment, rate limit.RateLimit, log zerolog.Logger) *compact.Runner {
	rules := a.Role.Context.WithDefaults()
	settings := a.Project.Model(rules.Compaction.Model)
	bound := func(ctx context.Context, most time.Duration, cause error) (context.Context, context.CancelFunc) {
		ctx, d := limit.NewDeadline(ctx, most, cause, rate)
		return ctx, d.Stop
	}
	c := compact.New(compact.Config{
		Model: m, ModelName: a.Project.ModelName(rules.Compaction.Model),
		Window: WindowOf(&a.Project, rules.Compaction.Model), MaxOutput: settings.MaxOutput, Bound: bound,
		Fallback: FallbackOf(&a.Project, rules.Compaction.Model),
		Log:      log,
	})
	return compact.NewRunner(c, a.Role.Context, model.Meta{Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt})
}
