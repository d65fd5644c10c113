package door

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}
