package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimesReportWhatTheyAddUp(t *testing.T) {
	t.Parallel()
	times := Times{
		WallSeconds: 486, Parts: []PhaseTime{{"model", 27}, {"gates", 447}, {"log", 2}, {"git", 9.04}, {"other", 1}},
		Sums: []PhaseTime{{"model", 1510}, {"gates", 900}, {"waiting", 60}},
	}
	require.Equal(t, "8m06s", times.Span())
	require.Equal(t, "model 27s, gates 7m27s, git 9.0s", times.Wall())
	require.Equal(t, "model 25m10s, gates 15m00s, waiting 1m00s", times.Sum())
}
