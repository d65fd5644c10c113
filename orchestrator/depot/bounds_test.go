package depot

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// One worker that tells limits without end fills what is kept of it alone.
func TestLimitsOfOneWorkerLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	var l Limits
	until := time.Now().Add(time.Hour)
	for i := range 10 * maxLimits {
		l.Take(spec.Wait{For: spec.WaitQuota, Model: fmt.Sprint("m", i), Account: "a", From: "liar", Until: until})
		l.Take(spec.Wait{For: fmt.Sprint("for", i), Account: "a", From: "w1", Until: until})
	}
	require.Len(t, l.List(), maxLimits)
	honest := spec.Wait{For: spec.WaitLimit, Account: "b", From: "w2", Until: until}
	l.Take(honest)
	require.Contains(t, l.List(), honest)
	honest.Until = until.Add(time.Minute)
	l.Take(honest)
	require.Contains(t, l.List(), honest, "a longer one takes its place")
	require.Len(t, l.List(), maxLimits+1)
}
