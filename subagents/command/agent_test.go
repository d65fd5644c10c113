package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/command/bill"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
)

// agentRun runs a shell line as a coding agent that has the secret secret-value, and returns what it was billed.
func agentRun(t *testing.T, usage, line string, bounds limit.Bounds, pay error) (spec.Result, []wire.Spent, error) {
	t.Helper()
	a := testAssignment()
	a.Role = spec.Role{
		Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", line}, Usage: usage, Secrets: []string{"A_KEY"},
	}
	dir := t.TempDir()
	var paid []wire.Spent
	c := &Executor{
		Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Secrets: Secrets{"A_KEY=secret-value"}, Bounds: bounds,
		Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()},
		Pay: func(_ context.Context, lines []wire.Spent) error {
			paid = append(paid, lines...)
			return pay
		},
	}
	r, err := c.Run(t.Context())
	return r, paid, err
}

func TestACodingAgentIsBilledHoweverItEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage, line, message, summary, said string
		status                              spec.Status
		prompt                              int
		deviations                          []string
	}{
		"done": {
			usage: spec.AgentOpencode, status: spec.StatusDone, prompt: 5, summary: "It is [A_KEY].", said: "It is [A_KEY].",
			line: `echo '{"type":"text","part":{"text":"It is '$A_KEY'."}}'; echo '{"type":"step_finish","part":{"tokens":{"input":5}}}'`,
		},
		"failed, with its reason": {
			usage: spec.AgentCodex, status: spec.StatusFailed, message: "sh exited with 1, and reports: no [A_KEY]", prompt: 5,
			line: `echo '{"type":"turn.completed","usage":{"input_tokens":5}}'; echo '{"type":"turn.failed","error":{"message":"no '$A_KEY'"}}'; exit 1`,
		},
		"failed, with last words": {
			usage: spec.AgentOpencode, status: spec.StatusFailed, message: "sh exited with 3, and reports: I give up.",
			said: "I give up.",
			line: `echo '{"type":"text","part":{"text":"I give up."}}'; exit 3`,
		},
		"failed in a shell": {
			usage: spec.AgentGemini, status: spec.StatusFailed, message: "gemini exited with 4: no such model",
			line: "gemini() { echo no such model; exit 4; }\ngemini --prompt x",
		},
		"failed with exit code 0": {
			usage: spec.AgentCodex, status: spec.StatusFailed, message: "sh exited with 0, and reports: no",
			line: `echo '{"type":"turn.failed","error":{"message":"no"}}'`,
		},
		"killed": {
			usage: spec.AgentCodex, status: spec.StatusFailed, message: "sh was ended by signal killed, and reports: no",
			line: `echo '{"type":"turn.failed","error":{"message":"no"}}'; kill -9 $$`,
		},
		"failed without words": {usage: spec.AgentCodex, status: spec.StatusFailed, message: "sh exited with 3", line: `exit 3`},
		"out of time": {
			usage: spec.AgentOpencode, status: spec.StatusTimedOut, prompt: 5, message: "no result after 2s",
			said: "Soon.",
			line: `trap '' TERM; echo '{"type":"text","part":{"text":"Soon."}}'; echo '{"type":"step_finish","part":{"tokens":{"input":5}}}'; while :; do sleep 1; done`,
		},
		"out of time, with its last error": {
			usage: spec.AgentGemini, status: spec.StatusTimedOut, message: "no result after 2s: Attempt 2 failed with status 429 [A_KEY]",
			line: `trap '' TERM; for n in 1 2; do echo "Attempt $n failed with status 429 $A_KEY"; done; echo Retrying; while :; do sleep 1; done`,
		},
		"megabytes before the figures": {
			usage: spec.AgentCodex, status: spec.StatusDone, prompt: 5,
			line: `head -c 9000000 /dev/zero | tr '\0' x; echo; echo '{"type":"turn.completed","usage":{"input_tokens":5}}'; head -c 100000 /dev/zero`,
		},
		"no figures": {
			usage: spec.AgentClaude, status: spec.StatusDone, line: `echo Done.`, summary: "Done.", said: "Done.",
			deviations: []string{"its use is not known: its output has no figures of claude"},
		},
		"a question": {
			usage: spec.AgentClaude, status: spec.StatusDone, line: `cat >/dev/null; printf 'May I use %s? [y/N] ' $A_KEY; read a; exit 0`,
			summary: "May I use [A_KEY]? [y/N]", said: "May I use [A_KEY]? [y/N]",
			deviations: []string{"its use is not known: its output has no figures of claude"},
		},
		"another program": {status: spec.StatusDone, line: `echo '{"type":"turn.completed","usage":{"input_tokens":5}}'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bounds := limit.Bounds{Time: time.Minute}
			if c.status == spec.StatusTimedOut {
				bounds.Time = 2 * time.Second
			}
			r, paid, err := agentRun(t, c.usage, c.line, bounds, nil)
			require.NoError(t, err)
			require.Equal(t, c.status, r.Status, "%+v", r.Error)
			if c.message != "" {
				require.Equal(t, c.message, r.Error.Message)
			}
			require.Contains(t, r.Handoff.Summary, c.summary)
			require.Equal(t, c.said, r.Said)
			require.Equal(t, c.usage != "" && c.prompt == 0, r.Unmetered)
			require.Equal(t, c.deviations, r.Handoff.Deviations)
			prompt := 0
			for _, line := range paid {
				prompt += line.Prompt
			}
			require.Equal(t, c.prompt, prompt)
		})
	}
}

func TestTheNameOfAModelHoldsNoSecret(t *testing.T) {
	t.Parallel()
	_, paid, err := agentRun(t, spec.AgentGemini,
		`echo '{"session_id":"x","stats":{"models":{"'$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY$A_KEY'":{}}}}'`,
		limit.Bounds{Time: time.Minute}, nil)
	require.NoError(t, err)
	require.Len(t, paid, 1)
	require.NotContains(t, paid[0].Model, "secret")
	require.LessOrEqual(t, len(paid[0].Model), maxModel+3)
}

func TestAnAttemptWhoseUsageIsNotNotedIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	gone := errors.New("fenced")
	_, _, err := agentRun(t, spec.AgentCodex, `echo '{"type":"turn.completed","usage":{"input_tokens":5}}'`,
		limit.Bounds{Time: time.Minute}, gone)
	require.ErrorIs(t, err, gone)
}

// The home of a coding agent is the attempt's own, where it leaves its sessions.
func TestACodingAgentHasAHomeOfItsOwn(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", `echo session > "$HOME/.agent"`}}
	dir, home := t.TempDir(), t.TempDir()
	place := sandbox.Place{Tree: dir, Home: home, Temp: t.TempDir()}
	c := &Executor{
		Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home}, Bounds: limit.Bounds{Time: time.Minute}, Place: place,
		Writable: []string{home},
	}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	_, err = os.Stat(filepath.Join(home, ".agent"))
	require.NoError(t, err)
}

func TestAnAgentThatCouldNotBeStartedUsedNothing(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"no-such-agent"}, Usage: spec.AgentGemini}
	c := &Executor{Assignment: a, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute}}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.False(t, r.Unmetered)
}

// day is the pool of a day without other processes.
type day struct{ model.Pooled }

func (d *day) Change(_ bool, change func(*model.Pooled)) error {
	change(&d.Pooled)
	return nil
}

// A coding agent that calls its service itself counts in the budget of the day as it says.
func TestACodingAgentCountsInTheDay(t *testing.T) {
	t.Parallel()
	for want, limit := range map[int64]spec.Budget{5: spec.Tokens(100), 7: {Amount: 100, Money: true}} {
		var pool day
		c := &Executor{
			Assignment: testAssignment(), Pay: func(context.Context, []wire.Spent) error { return nil },
			Calls: Calls{Budget: model.NewBudget(spec.Budget{}, 0, nil).Within(model.NewPooled(limit, nil, &pool))},
		}
		require.NoError(t, c.pay(t.Context(), []bill.Line{{Usage: spec.Usage{Prompt: 5}, Cost: 7}}))
		require.Equal(t, model.Pooled{Spent: want}, pool.Pooled)
	}
}
