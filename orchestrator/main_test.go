package orchestrator_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"divisi/internal/sandbox"
)

// A run that was waited for or closed leaves nothing behind.
func TestMain(m *testing.M) {
	if half := os.Getenv(halfVar); half != "" {
		os.Exit(runHalf(half)) //nolint:forbidigo // this is the main function of a half
	}
	_ = sandbox.Views() // a run of one test would try the machine out in the state directory that another removes
	// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
