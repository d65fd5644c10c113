package worker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

func TestACommandRoleGetsItsCoreBeforeItsPlace(t *testing.T) {
	t.Parallel()
	limiter := gate.NewLimiter(1)
	release, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing else would end the wait
	at := &attempt{
		worker:     &Worker{Places: &Places{commands: limiter}},
		progress:   &progress{clock: time.Now, last: time.Now(), append: func(contextscope.Event) {}},
		assignment: &wire.Assignment{Role: spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"true"}}},
	}
	_, err = at.carryOut(ctx)
	require.ErrorContains(t, err, "wait for a free core")
	require.Empty(t, at.private, "nothing was made for it")
}
