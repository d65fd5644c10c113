package command

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/limit"

	"github.com/stretchr/testify/require"
)

// lastingTree is a tree that can be read as long as there is time.
type lastingTree struct{}

func (f *lastingTree) Save(context.Context) (*spec.Patch, error) { return nil, nil }

func (f *lastingTree) Diff(ctx context.Context, _ int) (string, error) { return "+half", ctx.Err() }

func TestACommandThatRunsOutOfTimeTellsWhatItHadSaidAndChanged(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{
		Name: "mod", Executor: spec.ExecutorCommand, Secrets: []string{"A_KEY"},
		Command: []string{"sh", "-c", `echo "the key is $A_KEY"; exec sleep 60`},
	}
	for status, cause := range map[spec.Status]error{spec.StatusTimedOut: limit.ErrTime, spec.StatusCancelled: &limit.CancelledError{}} {
		ctx, end := context.WithCancelCause(t.Context())
		c := &Executor{
			Assignment: a, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Secrets: Secrets{"A_KEY=secret-value"},
			Bounds: limit.Bounds{Time: time.Minute}, Tree: &lastingTree{}, Doing: func(what string) {
				if !strings.HasPrefix(what, "running ") {
					end(cause)
				}
			},
		}
		r, err := c.Run(ctx)
		require.NoError(t, err)
		require.Equal(t, status, r.Status)
		if status == spec.StatusCancelled {
			require.Empty(t, r.Error.Detail, "no executor takes over")
			continue
		}
		require.Equal(t, "the key is [A_KEY]\n\nWhat it had changed by then:\n+half", r.Error.Detail)
	}
}

func TestACommandIsToldItsTaskWithoutTheCommand(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Role = spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"cat"}}
	a.Task.Command, a.Task.Brief = []string{"cat"}, "Say done."
	a.Task.Limits = spec.Limits{Turns: 40, Tokens: 1000, Time: spec.Duration(time.Minute)}
	c := &Executor{Assignment: a, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute}}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	var given Input
	require.NoError(t, json.Unmarshal([]byte(r.Handoff.Summary), &given), r.Handoff.Summary)
	require.Equal(t, "Say done.", given.Task.Brief)
	require.Empty(t, given.Task.Command)
	require.Equal(t, spec.Limits{Time: spec.Duration(time.Minute)}, given.Task.Limits)
	require.Equal(t, []string{"cat"}, a.Task.Command, "what is told is a copy")
}

func TestRefusedHostsInAFaultAreBounded(t *testing.T) {
	t.Parallel()
	out := &sandbox.Output{Refused: []*egress.RefusedError{{Host: "a.example", Why: "x"}, {Host: "b.example", Why: "x"}}}
	require.Equal(t, "; Divisi refuses a.example: it is x; Divisi refuses b.example: it is x", refusals(out))
	for range 9 {
		out.Refused = append(out.Refused, &egress.RefusedError{Host: strings.Repeat("h", 255), Why: "x"})
	}
	require.LessOrEqual(t, len(refusals(out)), maxFault+len("; …"))
}
