package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock that was put back while no process had the run is caught up with, so that no wait is longer than HoldBack.
func TestAClockIsBehindItsAnswers(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		until []time.Time
		want  time.Duration
	}{
		"no answer":        {nil, 0},
		"not held back":    {[]time.Time{{}}, 0},
		"over":             {[]time.Time{now.Add(-time.Hour)}, 0},
		"held back":        {[]time.Time{now.Add(4 * time.Second)}, 0},
		"given just now":   {[]time.Time{now.Add(HoldBack)}, 0},
		"back by a second": {[]time.Time{now.Add(HoldBack + time.Second), {}}, time.Second},
		"back by hours":    {[]time.Time{now.Add(5 * time.Hour), now.Add(time.Second)}, 5*time.Hour - HoldBack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := Decisions{}
			for _, until := range c.until {
				x[until.String()] = &Decided{Answer: Answer{NotBefore: until}}
			}
			ahead := x.Ahead(now)
			require.Equal(t, c.want, ahead)
			_, wait := x.Next(now.Add(ahead))
			require.LessOrEqual(t, wait, HoldBack)
			_, wait = x.Next(now.Add(ahead + HoldBack))
			require.Zero(t, wait)
		})
	}
}
