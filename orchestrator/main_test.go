package orchestrator_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A run that was waited for or closed leaves nothing behind.
func TestMain(m *testing.M) {
	// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
