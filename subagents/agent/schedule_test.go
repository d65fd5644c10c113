package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/tool/files"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// waiter is a probe whose calls wait for another agent.
type waiter struct{ probe }

func (w *waiter) Effect(tool.Call) tool.Effect { return tool.Asks }

// transitions reports how the calls of a session went, one line a call.
func transitions(t *testing.T, events []contextscope.Event) []string {
	t.Helper()
	byCall, last := map[[2]int]string{}, map[[2]int]wire.CallState{}
	for _, e := range events {
		if e.Kind != contextscope.KindCalls {
			continue
		}
		var d wire.Calls
		require.NoError(t, json.Unmarshal(e.Data, &d))
		for _, c := range d.Changes {
			call := [2]int{d.Turn, c.Call}
			require.Contains(t, nextStates[last[call]], c.State, "a way that there is")
			last[call] = c.State
			byCall[call] += " " + string(c.State)
		}
	}
	var lines []string
	for call, went := range byCall {
		lines = append(lines, fmt.Sprintf("%d.%d%s", call[0], call[1], went))
	}
	slices.Sort(lines)
	return lines
}

func manyCalls(names ...string) modeltest.Step {
	var s modeltest.Step
	for i, name := range names {
		s.Parts = append(s.Parts, genai.NewPartFromFunctionCall(name, map[string]any{"text": fmt.Sprint(i)}))
	}
	return s
}

func TestStatesOfCallsAreEvents(t *testing.T) {
	t.Parallel()
	fails := &probe{"breaks", false, func(context.Context, tool.Call) tool.Result { return tool.Failed("no") }}
	asks := &waiter{probe{"asks", true, func(context.Context, tool.Call) tool.Result { return tool.Text("yes") }}}
	s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("read", "nosuch", "breaks", "asks"), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, echo("read", true), fails, asks)
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"1.0 validating scheduled executing success",
		"1.1 validating error",
		"1.2 validating scheduled executing error",
		"1.3 validating scheduled executing awaiting_approval success",
		"2.0 validating scheduled executing success",
	}, transitions(t, a.Journal.Events()))
}

func TestStatesOfSlowCallsAreShownWhileTheyRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &probe{"read", true, func(context.Context, tool.Call) tool.Result {
			<-time.After(5 * time.Second) // by a bubble\'s clock
			return tool.Text("x")
		}}
		m := journaltest.New()
		a := testAgent(t, m, &modeltest.Script{Steps: []modeltest.Step{manyCalls("read"), modeltest.Submits("ok")}}, slow)
		_, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "brief turn usage calls calls tool turn usage calls tool", kinds(a.Journal.Events()))
	})
}

func TestAResultRunsAfterTheOtherCallsOfItsTurn(t *testing.T) {
	t.Parallel()
	result := func(r tool.Result) func(context.Context, tool.Call) tool.Result {
		return func(context.Context, tool.Call) tool.Result { return r }
	}
	red := tool.Text("FAIL")
	red.Red = true
	tools := []tool.Tool{
		echo("look", true), &probe{"blind", true, result(tool.Failed("no such file"))},
		&probe{"clash", false, result(tool.Failed("the text is not there"))}, &probe{"check", false, result(red)},
	}
	const submit = spec.ToolSubmitResult
	for name, tt := range map[string]struct {
		calls  []string
		failed string
	}{
		"first":                     {calls: []string{submit, "edit", "look"}},
		"between":                   {calls: []string{"edit", submit, "edit"}},
		"a read that failed":        {calls: []string{"blind", "edit", submit}},
		"an edit that failed":       {calls: []string{"clash", "look", submit}, failed: "clash (call 1)"},
		"an edit that failed later": {calls: []string{submit, "edit", "clash"}, failed: "clash (call 3)"},
		"a command that failed":     {calls: []string{"edit", "check", submit}, failed: "check (call 2)"},
		"a tool that there is not":  {calls: []string{"change", submit}, failed: "change (call 1)"},
		"several":                   {calls: []string{"clash", submit, "check"}, failed: "clash (call 1), check (call 3)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edits := 0
			edit := &probe{"edit", false, func(context.Context, tool.Call) tool.Result { edits++; return tool.Text("edited") }}
			step := manyCalls(tt.calls...)
			at := slices.Index(tt.calls, submit)
			step.Parts[at].FunctionCall.Args = map[string]any{"summary": "early"}
			s := &modeltest.Script{Steps: []modeltest.Step{step, modeltest.Submits("later")}}
			a := testAgent(t, journaltest.New(), s, append(tools[:4:4], edit)...)
			a.Tree = &fakeTree{files: []string{"a.go"}}
			a.Scope = files.NewScope(spec.WriteSet{Files: []string{"a.go"}})
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status)
			require.NotNil(t, r.Patch)
			require.Equal(t, strings.Count(strings.Join(tt.calls, " "), "edit"), edits, "every edit ran")
			if tt.failed == "" {
				require.Equal(t, "early", r.Handoff.Summary)
				require.Len(t, s.Sent(), 1)
				return
			}
			require.Equal(t, "later", r.Handoff.Summary)
			parts := s.Sent()[1].Contents[len(s.Sent()[1].Contents)-1].Parts
			for i, name := range tt.calls {
				require.Equal(t, name, parts[i].FunctionResponse.Name, "results are in call order")
			}
			said := parts[at].FunctionResponse.Response["error"]
			require.Contains(t, said, "nothing was submitted: in the same turn failed "+tt.failed+". Fix")
			require.Contains(t, strings.Join(transitions(t, a.Journal.Events()), ";"),
				fmt.Sprintf("1.%d validating scheduled cancelled", at))
		})
	}
}

func TestCallsBeyondTheCapOfATurnAreToldSo(t *testing.T) {
	t.Parallel()
	names := make([]string, 200)
	for i := range names {
		names[i] = "read"
	}
	s := &modeltest.Script{Steps: []modeltest.Step{manyCalls(names...), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, echo("read", true))
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	parts := s.Sent()[1].Contents[len(s.Sent()[1].Contents)-1].Parts
	require.Equal(t, "63", parts[63].FunctionResponse.Response["output"])
	for _, p := range parts[64:200] {
		require.Contains(t, p.FunctionResponse.Response["error"], "one turn can make 64 calls, and this one made 200")
	}
}

func TestCallsWithTheSameIDEachHaveTheirResult(t *testing.T) {
	t.Parallel()
	twice := manyCalls("read", "read")
	for _, p := range twice.Parts {
		p.FunctionCall.ID = "same"
	}
	s := &modeltest.Script{Steps: []modeltest.Step{twice, modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, echo("read", true))
	_, err := a.Run(t.Context())
	require.NoError(t, err)
	var got []any
	for _, c := range s.Sent()[1].Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				got = append(got, p.FunctionResponse.Response["output"])
			}
		}
	}
	require.Equal(t, []any{"0", "1"}, got)
}

func TestCancelEndsAnAgentInsideAToolThatNeverReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		defer synctest.Wait()
		defer close(release)
		var a *Agent
		hung := &probe{"read", true, func(context.Context, tool.Call) tool.Result {
			a.Inbox.Put(wire.Control{Verb: wire.ControlCancel, Text: "enough"})
			<-release
			return tool.Text("late")
		}}
		a = testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{manyCalls("read", "read")}}, hung)
		a.Inbox, a.Bounds.Parallel = NewInbox(cancel), 1
		began := time.Now()
		r, err := a.Run(ctx)
		require.NoError(t, err)
		require.Equal(t, spec.StatusCancelled, r.Status)
		require.Less(t, time.Since(began), time.Minute)
		require.Contains(t, strings.Join(transitions(t, a.Journal.Events()), ";"), "1.1 validating scheduled cancelled")
	})
}

func TestAToolThatShowsSignsOfLifeIsNotIdle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"beats": "x", "mute": "read was ended: it showed no sign of life for 1m0s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				work := &probe{"read", true, func(ctx context.Context, _ tool.Call) tool.Result {
					for range 10 {
						select {
						case <-time.After(30 * time.Second):
						case <-ctx.Done():
							return tool.Failed("gave up")
						}
						if name == "beats" {
							tool.Beat(ctx, "still there")
						}
					}
					return tool.Text("x")
				}}
				s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("read"), modeltest.Submits("ok")}}
				a := testAgent(t, journaltest.New(), s, work)
				a.Bounds.Tool, a.Bounds.Idle = time.Hour, time.Minute
				_, err := a.Run(t.Context())
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(lastResponse(s.Sent()[1])), want)
			})
		})
	}
}

func TestStandingInAQueueCountsNeitherAsTimeNorAsSilence(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"in time": "x", "mute behind it": "read was ended: it showed no sign of life for 1m0s", "slow behind it": "read was ended after 5m0s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				work := &probe{"read", true, func(ctx context.Context, _ tool.Call) tool.Result {
					resume := tool.Queue(ctx)
					<-time.After(3 * time.Hour)
					resume()
					for name != "in time" {
						select {
						case <-time.After(30 * time.Second):
						case <-ctx.Done():
							return tool.Failed("gave up")
						}
						if name == "slow behind it" {
							tool.Beat(ctx, "still there")
						}
					}
					return tool.Text("x")
				}}
				s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("read"), modeltest.Submits("ok")}}
				a := testAgent(t, journaltest.New(), s, work)
				a.Bounds.Tool, a.Bounds.Idle, a.Bounds.Time = 5*time.Minute, time.Minute, 24*time.Hour
				_, err := a.Run(t.Context())
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(lastResponse(s.Sent()[1])), want)
			})
		})
	}
}

func TestWaitingForOthersTakesNoRoomAndNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asks := &waiter{probe{"asks", true, func(context.Context, tool.Call) tool.Result {
			<-time.After(3 * time.Hour) // by a bubble\'s clock
			return tool.Text("yes")
		}}}
		s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("asks", "asks", "read"), modeltest.Submits("ok")}}
		a := testAgent(t, journaltest.New(), s, asks, echo("read", true))
		var rests []string
		a.Rest = func() func() {
			rests = append(rests, "rests")
			return func() { rests = append(rests, "goes on") }
		}
		began := time.Now()
		r, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, []string{"rests", "goes on"}, rests)
		require.Equal(t, 3*time.Hour, time.Since(began).Round(time.Minute), "both waited at once")
		require.Empty(t, r.LimitHit, "an attempt of an hour waited for three")
	})
}

func TestAResultThatIsHandedInAfterALimitCountsAndSaysSo(t *testing.T) {
	t.Parallel()
	work := func(i int) modeltest.Step { return modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(i)}) }
	after := func(s modeltest.Step, wait time.Duration) modeltest.Step { s.Wait = wait; return s }
	hang := modeltest.Step{Hang: true}
	for class, tt := range map[string]struct {
		bounds func(*limit.Bounds)
		Steps  []modeltest.Step
	}{
		"limit_turns":      {func(b *limit.Bounds) { b.Turns = 3 }, []modeltest.Step{work(0), work(1), modeltest.Submits("ok")}},
		"limit_tokens":     {func(b *limit.Bounds) { b.Tokens = 60 }, []modeltest.Step{work(0), work(1), work(2), modeltest.Submits("ok")}},
		"limit_tool_calls": {func(b *limit.Bounds) { b.ToolCalls = 2 }, []modeltest.Step{work(0), work(1), modeltest.Submits("ok")}},
		"limit_time": {func(b *limit.Bounds) { b.Time = time.Minute }, []modeltest.Step{
			after(work(0), 50*time.Second), after(work(1), 3900*time.Millisecond), after(modeltest.Submits("ok"), 500*time.Millisecond),
		}},
		"limit_idle": {func(b *limit.Bounds) { b.Idle = time.Minute }, []modeltest.Step{hang, hang, modeltest.Submits("ok")}},
		"limit_call": {func(b *limit.Bounds) { b.Call = time.Minute }, []modeltest.Step{hang, hang, modeltest.Submits("ok")}},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &modeltest.Script{Steps: tt.Steps}
				a := testAgent(t, journaltest.New(), s, echo("read", true))
				a.Bounds.Idle, a.Bounds.Call = 10*time.Minute, 10*time.Minute
				tt.bounds(&a.Bounds)
				r, err := a.Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
				require.Equal(t, class, r.LimitHit)
				last := s.Sent()[len(s.Sent())-1]
				require.Equal(t, []string{"submit_result"}, last.Config.ToolConfig.FunctionCallingConfig.AllowedFunctionNames)
				require.Contains(t, content.Text(last.Contents[len(last.Contents)-1]), "Your limit is reached")
			})
		})
	}
}

func TestTheWrapUpTurnSeesWhatHadFinishedWhenTheTimeEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &probe{"slow", false, func(ctx context.Context, _ tool.Call) tool.Result {
			<-ctx.Done()
			return tool.Failed("broken off")
		}}
		s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("read", "slow", "read"), modeltest.Submits("ok")}}
		a := testAgent(t, journaltest.New(), s, echo("read", true), slow)
		a.Bounds.Time, a.Bounds.Tool, a.Bounds.Idle = 10*time.Minute, time.Hour, time.Hour
		tree := &fakeTree{files: []string{"a.go"}}
		a.Tree, a.Scope = tree, files.NewScope(spec.WriteSet{Files: []string{"a.go"}})
		r, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "limit_time", r.LimitHit, "%+v", r.Error)
		parts := s.Sent()[1].Contents[len(s.Sent()[1].Contents)-1].Parts
		require.Equal(t, "0", parts[0].FunctionResponse.Response["output"])
		require.Contains(t, fmt.Sprint(parts[1].FunctionResponse.Response), "broken off")
		require.Contains(t, fmt.Sprint(parts[2].FunctionResponse.Response), "was not begun")
		require.NotNil(t, r.Patch, "what was in the tree counts")
	})
}

func TestAResultThatIsRefusedInTheWrapUpTurnMayBePutRightOnce(t *testing.T) {
	t.Parallel()
	wrong := modeltest.CallsTool("submit_result", map[string]any{"title": "x"})
	for name, tt := range map[string]struct {
		Steps  []modeltest.Step
		status spec.Status
	}{
		"put right": {[]modeltest.Step{wrong, modeltest.Submits("ok")}, spec.StatusDone},
		"never":     {[]modeltest.Step{wrong, wrong, modeltest.Submits("ok")}, spec.StatusTimedOut},
		"others":    {[]modeltest.Step{modeltest.CallsTool("read", nil), modeltest.Submits("ok")}, spec.StatusTimedOut},
		"words":     {[]modeltest.Step{modeltest.Says("I am not done"), modeltest.Submits("ok")}, spec.StatusTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := testAgent(t, journaltest.New(), &modeltest.Script{Steps: tt.Steps}, echo("read", true))
			a.Bounds.Turns = 1
			r, err := a.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.status, r.Status)
		})
	}
}

func TestTheLimitOfToolCallsHoldsWithinATurn(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	read := &probe{"read", true, func(context.Context, tool.Call) tool.Result { ran.Add(1); return tool.Text("x") }}
	s := &modeltest.Script{Steps: []modeltest.Step{manyCalls("read", "read", "read"), manyCalls("read", "read", "read", "read"), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, read)
	a.Bounds.ToolCalls = 5
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, wire.FaultToolCalls, r.LimitHit)
	require.EqualValues(t, 5, ran.Load())
	require.Contains(t, content.Text(s.Sent()[2].Contents[len(s.Sent()[2].Contents)-1]), "5 of 5 tool calls")
}

func TestCallsAreGivenUpWhenTheLogTakesNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asks := &waiter{probe{"asks", true, func(ctx context.Context, _ tool.Call) tool.Result {
			<-ctx.Done()
			return tool.Failed("there is no answer")
		}}}
		m := journaltest.New()
		m.SetFailAfter(2)
		_, err := testAgent(t, m, &modeltest.Script{Steps: []modeltest.Step{manyCalls("asks")}}, asks).Run(t.Context())
		require.ErrorIs(t, err, journaltest.ErrDown)
	})
}

// hasty is a probe that panics where no tool is expected to.
type hasty struct{ probe }

func (h *hasty) Doing(tool.Call) string { panic("no words") }

func TestAPanicInACallIsTheAgentsOwn(t *testing.T) {
	t.Parallel()
	for name, readOnly := range map[string]bool{"beside others": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hasty{*echo("hasty", readOnly)}
			a := testAgent(t, journaltest.New(), &modeltest.Script{Steps: []modeltest.Step{manyCalls("hasty", "hasty")}}, h)
			require.PanicsWithValue(t, "no words", func() {
				_, err := a.Run(t.Context())
				require.NoError(t, err)
			})
		})
	}
}

func TestAResultOfTheWrapUpTurnIsNotCutOffInTheNextDelivery(t *testing.T) {
	t.Parallel()
	for class, tt := range map[string]struct {
		turns, appends, asked int
		wait                  time.Duration
	}{wire.FaultTime: {9, 6, 3, 500 * time.Millisecond}, wire.FaultTurns: {2, 5, 2, 0}} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("read", nil), modeltest.Submits("ok")}}
				s.Steps[0].Wait, s.Steps[1].Wait = 53900*time.Millisecond, tt.wait
				m := journaltest.New()
				deliver := func(appends int, used time.Duration) (spec.Result, error) {
					m.SetFailAfter(appends)
					a := testAgent(t, m, s, echo("read", true))
					a.Bounds.Time, a.Bounds.Turns, a.Bounds.Used = time.Minute, tt.turns, used
					return a.Run(t.Context())
				}
				_, err := deliver(tt.appends, 0) // the worker is lost before the result is in the log
				require.ErrorIs(t, err, journaltest.ErrDown)
				r, err := deliver(-1, time.Minute)
				require.NoError(t, err)
				require.Equal(t, class, r.LimitHit)
				require.Len(t, s.Sent(), tt.asked, "nothing is asked again")
			})
		})
	}
}
