package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASignalAtTheSameMomentIsTheFirstOneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, done, second := make(chan os.Signal), make(chan struct{}), make(chan bool, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { second <- interrupted(got, done, cancel) }()
		got <- syscall.SIGTERM
		synctest.Wait()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		got <- syscall.SIGTERM
		time.Sleep(sameSignal) //nolint:forbidigo // the bubble's time
		got <- syscall.SIGTERM
		synctest.Wait()
		require.Empty(t, second)
		time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's time
		got <- syscall.SIGTERM
		require.True(t, <-second)

		go func() { second <- interrupted(got, done, cancel) }()
		close(done)
		require.False(t, <-second)
	})
}
