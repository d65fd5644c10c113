package command

import (
	"context"
	"strings"
	"testing"
	"time"

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
