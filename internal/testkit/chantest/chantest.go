// Package chantest receives from channels in tests, for so long and no longer.
package chantest

import (
	"testing"
	"time"
)

// patience is far more than a busy machine needs, and far less than what ends all tests of a package.
const patience = 5 * time.Minute

// Next returns what comes next, or the zero value of a closed channel. The test fails where nothing comes.
func Next[T any](t testing.TB, from <-chan T) (next T) {
	t.Helper()
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case next = <-from:
	case <-over.C:
		t.Fatalf("nothing came within %s", patience)
	}
	return next
}
