package redact_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The model library's statistics start a worker when they are linked in, and offer no way to stop it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}
