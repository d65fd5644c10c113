package subagents

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The Google client brings OpenCensus, whose init starts a goroutine that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// testStamp counts ids and stands still in time.
func testStamp() Stamp {
	var n atomic.Int64
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Stamp{Clock: func() time.Time { return now }, IDs: func() string { return fmt.Sprintf("id-%d", n.Add(1)) }}
}
