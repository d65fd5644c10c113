package gateway_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A dependency of the SDK starts a worker when it is loaded and never stops it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
