package toolset

import (
	"testing"

	"go.uber.org/goleak"
)

// The Google client brings OpenCensus, whose init starts a goroutine that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
