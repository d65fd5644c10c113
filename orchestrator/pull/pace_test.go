package pull

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// Of an hour as many are opened as may be; what the log has is counted, whichever process asked.
func TestPaceIsReadFromTheLog(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	pulls := run.Pulls{}
	for i, ago := range []int{90, 20, 50, 10} {
		head := fmt.Sprintf("divisi/r-%d", i)
		pulls[head] = &run.Pull{Head: head, First: uint64(i), State: run.PullStateOpen, Asked: now.Add(-time.Duration(ago) * time.Minute)}
	}
	next := func(p Pace) string {
		at, full := p.Next(pulls, now)
		return fmt.Sprint(max(0, at.Sub(now)), full)
	}
	require.Equal(t, "0s false", next(Pace{}))
	require.Equal(t, "0s false", next(Pace{PerHour: 4}))
	require.Equal(t, "10m5s false", next(Pace{PerHour: 3}))
	require.Equal(t, "50m5s false", next(Pace{PerHour: 1}))
	require.Equal(t, "0s true", next(Pace{MaxOpen: 4}))
	pulls["divisi/r-0"].State = run.PullStateMerged
	require.Equal(t, "0s false", next(Pace{MaxOpen: 4}))
}
