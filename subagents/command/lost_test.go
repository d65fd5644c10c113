package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/subagents/limit"

	"github.com/stretchr/testify/require"
)

func TestWhatACommandLosesIsAWarningAndNoFailure(t *testing.T) {
	t.Parallel()
	const lost = "warning: its changes are lost, because its role says writes: false: "
	for name, tt := range map[string]struct {
		files []string
		err   error
		want  []string
	}{
		"nothing": {},
		"one":     {files: []string{"a.txt"}, want: []string{lost + "a.txt"}},
		"many":    {files: strings.Split("abcdefghij", ""), want: []string{lost + "a, b, c, d, e and 5 more"}},
		"cannot list": {err: errors.New("no room"), want: []string{
			"warning: its changes, if any, are lost, because its role says writes: false; the files could not be listed: no room",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := testAssignment()
			a.Role = spec.Role{Name: "look", Executor: spec.ExecutorCommand, Command: []string{"true"}}
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			c := &Executor{
				Assignment: a, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute},
				Lost: func(ctx context.Context) ([]string, error) {
					end(limit.ErrTime) // the command has come to its end in time
					return tt.files, errors.Join(tt.err, ctx.Err())
				},
			}
			r, err := c.Run(ctx)
			require.NoError(t, err)
			require.Equal(t, spec.StatusDone, r.Status)
			require.Equal(t, tt.want, r.Handoff.Deviations)
		})
	}
}
