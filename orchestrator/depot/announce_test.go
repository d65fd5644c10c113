package depot

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/testkit/chantest"
)

// A member that asks without end who is there has it said a few times, and not each time.
func TestWhoAsksWithoutEndIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
	said := make(chan time.Time, 1000)
	stop, err := Present(t.Context(), b, func() { said <- time.Now() })
	require.NoError(t, err)
	defer stop()
	last := chantest.Next(t, said)
	for len(said) == 0 {
		require.NoError(t, b.Publish(t.Context(), bus.PresenceAsk(), nil))
	}
	require.GreaterOrEqual(t, chantest.Next(t, said).Sub(last), askedAgain)
}
