package compact

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"

	"github.com/stretchr/testify/require"
)

// rig is one agent with its runner, in a bubble of its own time.
type rig struct {
	session

	t      *testing.T
	model  *modeltest.Scripted
	runner *Runner
}

// inBubble runs a test with a runner whose model gives the steps.
func inBubble(t *testing.T, test func(t *testing.T, r *rig), steps ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, m := scripted(t, steps...)
		r := &rig{t: t, model: m, runner: NewRunner(c, spec.ContextRules{}, meta())}
		test(t, r)
		r.runner.Close()
	})
}

// growTo grows the session until a request has so many percent of the window.
func (r *rig) growTo(percent int) {
	for r.now().Tokens < window*percent/100 {
		r.grow(1)
	}
}

// boundary asks once, and appends what comes back.
func (r *rig) boundary(change ...func(*Session)) []contextscope.Compaction {
	r.t.Helper()
	now := r.now()
	for _, f := range change {
		f(&now)
	}
	records, usage, err := r.runner.Boundary(r.t.Context(), now)
	require.NoError(r.t, err)
	r.take(records, usage)
	return records
}

func (r *rig) methods() []string {
	var out []string
	for _, e := range r.events {
		if c, ok := contextscope.CompactionOf(e); ok {
			out = append(out, c.Method+" "+c.Trigger)
		}
	}
	return out
}

func (r *rig) paid() (calls int) {
	for _, e := range r.events {
		if e.Kind == contextscope.KindUsage {
			calls++
		}
	}
	return calls
}

func tooLong(s *Session) { s.TooLong = true }

func TestASnapshotIsWrittenInTheBackgroundAndSwappedInAtABoundary(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(35)
		require.Empty(t, r.boundary())
		require.Empty(t, r.model.Requests(), "below start nothing happens")
		r.growTo(40)
		require.Empty(t, r.boundary())
		planned := r.now()
		r.grow(1)
		require.Empty(t, r.boundary(), "it is not waited for")
		synctest.Wait()
		require.Len(t, r.model.Requests(), 1, "and begun once")
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's time: the answer comes
		r.growTo(45)
		require.Empty(t, r.boundary(), "it is kept until swap")
		require.Equal(t, 1, r.paid(), "but paid at once")
		r.growTo(50)
		before := r.now().Tokens
		records := r.boundary()
		require.Len(t, records, 1)
		require.Equal(t, contextscope.MethodSnapshot, records[0].Method)
		require.Less(t, records[0].To, len(planned.Events), "the range was chosen when it began")
		require.Less(t, r.now().Tokens, before*2/3)
		require.Equal(t, 1, r.paid())
		require.Empty(t, r.boundary())
		r.growTo(40)
		require.Empty(t, r.boundary())
		require.Equal(t, []string{"snapshot share"}, r.methods())
	}, "{delay: 30s, "+text(goodAnswer)[1:], text(goodAnswer), text(goodAnswer))
}

func TestAFailureIsPaidForOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(40)
		require.Empty(t, r.boundary())
		synctest.Wait()
		records := r.boundary()
		require.Len(t, records, 1)
		require.Equal(t, contextscope.MethodFailed, records[0].Method)
		require.Equal(t, 1, r.paid())
		require.Empty(t, r.boundary())
		synctest.Wait()
		require.Len(t, r.model.Requests(), 1)

		// Another delivery of the attempt knows of it from the log.
		c, m := scripted(t, text(goodAnswer))
		r.runner, r.model = NewRunner(c, spec.ContextRules{}, meta()), m
		require.Empty(t, r.boundary())
		synctest.Wait()
		require.Empty(t, m.Requests(), "a failure lately is not paid for again")
	}, "{fault: safety}")
}

func TestAFailedAttemptIsPrunedAtSwap(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(46)
		require.Empty(t, r.boundary())
		synctest.Wait()
		r.boundary()
		r.growTo(50)
		records := r.boundary()
		require.Len(t, records, 1)
		require.Equal(t, contextscope.MethodPrune, records[0].Method)
		require.Equal(t, contextscope.TriggerShare, records[0].Trigger)
		require.LessOrEqual(t, r.now().Tokens, window*40/100, "to where compaction would begin")
		require.Len(t, r.model.Requests(), 1)
		r.growTo(50)
		require.Empty(t, r.boundary(), "the session has grown: another attempt is worth it")
		synctest.Wait()
		require.Len(t, r.model.Requests(), 2)
		require.Equal(t, contextscope.MethodSnapshot, r.boundary()[0].Method)
	}, "{fault: safety}", "{fault: safety}", text(goodAnswer))
}

func TestBeyondHardTheAgentWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(40)
		require.Empty(t, r.boundary())
		r.growTo(85)
		began := time.Now()
		records := r.boundary()
		require.Equal(t, 40*time.Second, time.Since(began), "for the attempt that is under way")
		require.Equal(t, contextscope.MethodSnapshot, records[0].Method)
		require.Len(t, r.model.Requests(), 1)
		r.growTo(86)
		records = r.boundary()
		require.Equal(t, contextscope.MethodSnapshot, records[0].Method, "and runs one now where none is")
		require.Equal(t, contextscope.TriggerLimit, records[0].Trigger)
		require.Equal(t, 2, r.paid())
		r.growTo(87)
		require.Equal(t, contextscope.MethodFailed, r.boundary()[0].Method)
		require.Equal(t, contextscope.MethodPrune, r.boundary()[0].Method, "what a model cannot do, code does")
		require.LessOrEqual(t, r.now().Tokens, window*40/100)
		require.Empty(t, r.boundary())
	}, "{delay: 40s, "+text(goodAnswer)[1:], "{text: none}", text(goodAnswer), "{text: none}", "{fault: safety}")
}

func TestTooLongIsAnsweredBelowEveryShare(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(20)
		before := r.now().Tokens
		records := r.boundary(tooLong)
		require.Equal(t, contextscope.MethodSnapshot, records[0].Method)
		require.Equal(t, contextscope.TriggerTooLong, records[0].Trigger)
		r.grow(3)
		require.Equal(t, contextscope.MethodFailed, r.boundary(tooLong)[0].Method)
		shrinking := r.now().Tokens
		require.Equal(t, contextscope.MethodPrune, r.boundary(tooLong)[0].Method)
		require.Less(t, r.now().Tokens, shrinking)
		for n := 0; len(r.boundary(tooLong)) > 0; n++ {
			require.Less(t, r.now().Tokens, shrinking, "each step saves something")
			require.Less(t, n, 10, "and it comes to an end")
			shrinking = r.now().Tokens
		}
		require.Less(t, shrinking, before)
		require.Len(t, r.model.Requests(), 2)
	}, text(goodAnswer), "{text: none}", "{fault: safety}")
}

func TestASnapshotThatAnotherCompactionOvertookIsDropped(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(40)
		require.Empty(t, r.boundary())
		synctest.Wait()
		r.take([]contextscope.Compaction{{Method: contextscope.MethodPrune, Masked: []int{3}}}, nil)
		r.growTo(50)
		require.Empty(t, r.boundary(), "it does not stand for what is there now: another one begins")
		require.Equal(t, 1, r.paid(), "what it cost is paid all the same")
		synctest.Wait()
		require.Len(t, r.model.Requests(), 2)
		require.Equal(t, contextscope.MethodSnapshot, r.boundary()[0].Method)
	}, text(goodAnswer))
}

func TestBeyondHardWithoutARangeIsPruned(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		r.call("read_file", nil, map[string]any{"output": strings.Repeat("x", 20_000)})
		r.call("read_file", nil, map[string]any{"output": strings.Repeat("x", 20_000)})
		records := r.boundary()
		require.Equal(t, contextscope.MethodPrune, records[0].Method, "one turn is no range for a snapshot")
		require.Equal(t, 2, records[0].To)
		require.Empty(t, r.boundary(), "the newest turn stays, whatever its size")
		require.Empty(t, r.model.Requests())
	}, text(goodAnswer))
}

func TestCloseEndsTheBackgroundAndTellsItsCost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		require.Zero(t, r.runner.Close())
		r.growTo(40)
		require.Empty(t, r.boundary())
		synctest.Wait()
		began := time.Now()
		r.runner.Close()
		require.Zero(t, time.Since(began), "it is not waited for to answer")
		require.Empty(t, r.boundary())
		synctest.Wait()
		require.Equal(t, 1, r.runner.Close().Calls, "an answer that is no longer wanted")
		require.Zero(t, r.runner.Close())
	}, "{fault: hang, times: 1, "+text(goodAnswer)[1:])
	inBubble(t, func(t *testing.T, r *rig) {
		r.growTo(40)
		require.Empty(t, r.boundary())
		synctest.Wait()
		require.Empty(t, r.boundary())
		require.Equal(t, 1, r.paid())
		require.Zero(t, r.runner.Close(), "nothing is paid twice")
	}, text(goodAnswer))
}

// spending is a model that answers only when its caller gives up, and tells then what that had cost.
type spending struct{}

func (spending) Generate(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		<-ctx.Done()
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
		yield(model.Event{}, &model.Error{Class: model.Cancelled, Usage: spec.Usage{Calls: 1, Prompt: 7}})
	}
}

func TestCloseWaitsForWhatABrokenOffCallHadCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, runner: NewRunner(New(Config{Model: spending{}, ModelName: "m"}), spec.ContextRules{}, meta())}
		r.growTo(40)
		require.Empty(t, r.boundary())
		require.Equal(t, spec.Usage{Calls: 1, Prompt: 7}, r.runner.Close())
	})
}

func TestAnAgentThatStopsWaitsNoMore(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{40, 85} {
		inBubble(t, func(t *testing.T, r *rig) {
			stop := errors.New("the run stops")
			ctx, cancel := context.WithCancelCause(t.Context())
			r.growTo(percent)
			time.AfterFunc(time.Second, func() { cancel(stop) })
			_, _, err := r.runner.Boundary(ctx, r.now())
			if percent == 40 {
				require.NoError(t, err)
				r.growTo(85)
				_, _, err = r.runner.Boundary(ctx, r.now())
			}
			require.ErrorIs(t, err, stop)
		}, "{fault: hang}")
	}
}

func TestRequestsAreNumberedOverTheSession(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *rig) {
		for range 2 {
			r.growTo(86)
			r.boundary()
		}
		var turns []int
		for _, e := range r.model.Requests() {
			require.Equal(t, purpose, e.Purpose)
			turns = append(turns, e.Turn)
		}
		require.Equal(t, []int{1, 2, 3}, turns, "a repair has a number of its own, and so has the next compaction")
	}, text("no"), text(goodAnswer), text(goodAnswer))
}

func TestNewRunnerFillsTheRulesIn(t *testing.T) {
	t.Parallel()
	r := NewRunner(New(Config{ModelName: model.DefaultModel}), spec.ContextRules{}, meta())
	require.InDelta(t, spec.DefaultCompactionStart, r.rules.Start, 0)
}
