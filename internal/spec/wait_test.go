package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Machines whose clocks are an hour apart wait equally long.
func TestAWaitTravelsBetweenClocks(t *testing.T) {
	t.Parallel()
	here := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		there := here.Add(off)
		w := Wait{For: WaitLimit, Until: here.Add(30 * time.Second)}
		require.Equal(t, Wait{For: WaitLimit, Until: there.Add(30 * time.Second)}, w.Sent(here).Taken(there))
		over := Wait{Until: here.Add(-time.Minute)}.Sent(here).Taken(there)
		require.False(t, over.Until.After(there.Add(time.Millisecond)), "what is over stays over")
	}
	require.Equal(t, Wait{Until: here}, Wait{Until: here}.Taken(here), "of a program that does not send it")
}

// What another machine claims ends within a day, whatever it says.
func TestAWaitThatIsToldHasAnEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, w := range []Wait{{In: 1<<63 - 1}, {Until: now.AddDate(292, 0, 0)}, {In: 1, Until: now.AddDate(292, 0, 0)}, {In: MaxTold + 1}} {
		require.False(t, w.Taken(now).Until.After(now.Add(MaxTold)), "%v", w)
	}
	require.Equal(t, now.Add(MaxTold), Wait{In: MaxTold}.Taken(now).Until)
}
