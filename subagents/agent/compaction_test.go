package agent

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/limit"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// slow is the digger's model, where calls of one purpose take their time.
type slow struct {
	*modeltest.Recorder

	purpose string
	wait    func(ctx context.Context)
}

func newSlow(purpose string, wait func(ctx context.Context)) *slow {
	return &slow{modeltest.NewRecorder(digs), purpose, wait}
}

func (s *slow) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if req.Meta.Purpose == s.purpose {
			s.wait(ctx)
		}
		s.Recorder.Generate(ctx, req)(yield)
	}
}

func TestACompactionIsNotChargedForRateLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rate := &pause{}
		m := newSlow("compaction", func(context.Context) {
			rate.extend(time.Hour)
			time.Sleep(time.Hour + 10*time.Second) //nolint:forbidigo // the bubble's time
		})
		a := digger(t, journaltest.New(), m)
		a.Assignment.Role.Context.Compaction = spec.CompactionRules{Start: 0.5, Swap: 0.5, Hard: 0.5}
		a.Compact, a.RateLimit, a.Bounds.Time = NewCompactor(m, a.Assignment, rate, zerolog.Nop()), rate, 10*time.Minute
		r, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		made := methods(t, a)
		require.NotEmpty(t, made[contextscope.MethodSnapshot])
		for _, c := range made[contextscope.MethodFailed] {
			require.Equal(t, "snapshot", c.Fault.Class, "%+v", c.Fault)
		}
		require.Greater(t, a.waited, time.Hour)
	})
}

func TestACancelEndsWhateverAnAgentWaitsFor(t *testing.T) {
	t.Parallel()
	for _, purpose := range []string{"turn", "compaction", "summary", "prefix"} {
		t.Run(purpose, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := func() {
					time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
					cancel(&limit.CancelledError{Reason: "enough"})
				}
				began := time.Now()
				a := digger(t, journaltest.New(), newSlow(purpose, func(ctx context.Context) {
					go stop()
					<-ctx.Done()
				}))
				if purpose == "prefix" { // a sibling has gone ahead and is silent
					a.Siblings = NewSiblings()
					a.Input.Role.Instruction, a.Call.Model = longInstruction, model.DefaultModel
					first := digger(t, journaltest.New(), newSlow("turn", func(ctx context.Context) { <-ctx.Done() }))
					first.Siblings, first.Input.Role, first.Call = a.Siblings, a.Input.Role, a.Call
					a.Input.Window, first.Input.Window = 0, 0
					firstCtx, end := context.WithCancel(t.Context())
					ended := make(chan struct{})
					defer func() { end(); <-ended }()
					go func() {
						defer close(ended)
						_, _ = first.Run(firstCtx)
					}()
					synctest.Wait()
					go stop()
				}
				r, err := a.Run(ctx)
				require.NoError(t, err)
				require.Equal(t, spec.StatusCancelled, r.Status)
				require.Less(t, time.Since(began), 5*time.Second)
			})
		})
	}
}
