package page

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// TestSeriesOfAnyLength: however long a run is, its points are bounded, in order, and spread over all of it.
func TestSeriesOfAnyLength(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batches int
		apart   func(i int) time.Duration
		least   int
	}{
		"none":           {0, nil, 0},
		"one":            {1, func(int) time.Duration { return time.Second }, 1},
		"few":            {100, func(int) time.Duration { return time.Second }, 100},
		"all at once":    {1000, func(int) time.Duration { return 0 }, 1},
		"many":           {100_000, func(int) time.Duration { return 50 * time.Millisecond }, mostPoints / 2},
		"slower later":   {5000, func(i int) time.Duration { return time.Duration(i) * time.Millisecond }, mostPoints / 3},
		"a burst, a day": {5001, func(i int) time.Duration { return time.Duration(i/5000)*24*time.Hour + time.Millisecond }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, x := run.NewState(), Series{}
			begin := time.Unix(1000, 0)
			at := begin
			for i := range c.batches {
				at = at.Add(c.apart(i))
				s.Time, s.Usage.Output = at, i+1
				x.Add(s)
			}
			points := x.Until(s, at)
			require.LessOrEqual(t, len(points), mostPoints)
			require.GreaterOrEqual(t, len(points), c.least)
			if c.batches == 0 {
				return
			}
			last := points[len(points)-1]
			require.Equal(t, Point{at.UnixMilli(), 0, int64(c.batches)}, last)
			for i := 1; i < len(points); i++ {
				require.Greater(t, points[i][0], points[i-1][0])
				require.GreaterOrEqual(t, points[i][2], points[i-1][2])
			}
			require.Equal(t, begin.Add(c.apart(0)).UnixMilli(), points[0][0], "the begin stays")
		})
	}
}
