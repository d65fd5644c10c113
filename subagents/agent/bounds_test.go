package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
	"divisi/subagents/limit"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

func TestAgentLimits(t *testing.T) {
	t.Parallel()
	endless := func(wait time.Duration) *modeltest.Script {
		s := &modeltest.Script{}
		for i := range 100 {
			st := modeltest.CallsTool("read", map[string]any{"text": fmt.Sprint(i)})
			st.Wait = wait
			s.Steps = append(s.Steps, st)
		}
		return s
	}
	hanging := &modeltest.Script{Steps: []modeltest.Step{{Hang: true}}}
	tests := map[string]struct {
		bounds limit.Bounds
		script *modeltest.Script
		tool   time.Duration
		class  string
		calls  int
	}{
		"turns":  {limit.Bounds{Turns: 10, Time: time.Hour}, endless(0), 0, "limit_turns", 10},
		"tokens": {limit.Bounds{Turns: 99, Tokens: 150, Time: time.Hour}, endless(0), 0, "limit_tokens", 9},
		"time":   {limit.Bounds{Turns: 99, Time: 95 * time.Second}, endless(10 * time.Second), 0, "limit_time", 10},
		"time of earlier deliveries": {
			limit.Bounds{Turns: 99, Time: 95 * time.Second, Used: 50 * time.Second}, endless(10 * time.Second), 0, "limit_time", 5,
		},
		"idle":           {limit.Bounds{Turns: 99, Time: time.Hour, Idle: 20 * time.Second}, hanging, 0, "limit_idle", 3},
		"a call's":       {limit.Bounds{Turns: 3, Time: time.Hour, Tool: time.Second}, endless(0), time.Minute, "limit_turns", 3},
		"time in a call": {limit.Bounds{Turns: 30, Time: time.Minute, Tool: time.Hour, Idle: time.Hour}, endless(0), 2 * time.Minute, "limit_time", 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := &probe{"read", true, func(ctx context.Context, c tool.Call) tool.Result {
					timer := time.NewTimer(tt.tool)
					defer timer.Stop()
					select {
					case <-timer.C:
						return tool.Text(fmt.Sprint(c.Args["text"]))
					case <-ctx.Done():
						return tool.Failed("gave up")
					}
				}}
				a := testAgent(t, journaltest.New(), tt.script, slow)
				tt.bounds.Idle, tt.bounds.Tool = max(tt.bounds.Idle, time.Second*15), max(tt.bounds.Tool, time.Second)
				tt.bounds.Call = time.Hour
				a.Bounds = tt.bounds
				r, err := a.Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, spec.StatusTimedOut, r.Status)
				require.Equal(t, tt.class, r.Error.Class)
				require.Len(t, tt.script.Sent(), tt.calls)
				if tt.calls > 5 {
					told := strings.Count(kinds(a.Journal.Events()), "control")
					require.Contains(t, []int{1, 2}, told, "told once that this is the last turn, and before it at most once that it is near")
				}
			})
		})
	}
}

func TestAgentKeepsTheLastToolResultWhenItIsToldToWrapUp(t *testing.T) {
	t.Parallel()
	read := func(text string) modeltest.Step { return modeltest.CallsTool("read", map[string]any{"text": text}) }
	s := &modeltest.Script{Steps: []modeltest.Step{read("a"), read("b"), modeltest.Submits("ok")}}
	a := testAgent(t, journaltest.New(), s, echo("read", true))
	a.Bounds.Turns = 3
	r, err := a.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status)
	second := s.Sent()[1]
	last := second.Contents[len(second.Contents)-1]
	require.Equal(t, "a", last.Parts[0].FunctionResponse.Response["output"])
	require.Contains(t, last.Parts[1].Text, "limit is near")
	require.Nil(t, second.Config.ToolConfig)
	require.Equal(t, []string{"submit_result"}, s.Sent()[2].Config.ToolConfig.FunctionCallingConfig.AllowedFunctionNames)
}

// pause is a rate limit that ends at a time.
type pause struct{ end atomic.Pointer[time.Time] }

func (p *pause) Until() (time.Time, string) {
	if end := p.end.Load(); end != nil {
		return *end, "tokens"
	}
	return time.Time{}, ""
}

func (p *pause) extend(by time.Duration) {
	end := time.Now().Add(by)
	p.end.Store(&end)
}

func TestAgentIsNotChargedForRateLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rate := &pause{}
		late := modeltest.Submits("ok")
		late.Wait = time.Hour + 10*time.Second
		s := &modeltest.Script{Steps: []modeltest.Step{modeltest.CallsTool("read", nil), late}}
		s.Each = func(turn int) {
			if turn == 1 {
				rate.extend(time.Hour)
			}
		}
		a := testAgent(t, journaltest.New(), s, echo("read", true))
		a.RateLimit = rate
		a.Bounds.Time, a.Bounds.Idle = time.Minute, 20*time.Second
		r, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, time.Hour, a.waited)
		require.Len(t, s.Sent(), 2)
	})
}

func TestAgentThatDoesNothingAfterARateLimitIsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &modeltest.Script{Steps: []modeltest.Step{{Hang: true}}}
		a := testAgent(t, journaltest.New(), s)
		rate := &pause{}
		rate.extend(time.Hour)
		a.RateLimit = rate
		a.Bounds.Time, a.Bounds.Idle = 2*time.Hour, 20*time.Second
		r, err := a.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "limit_idle", r.Error.Class)
		require.Less(t, time.Since(begin), time.Hour+2*time.Minute)
	})
}
