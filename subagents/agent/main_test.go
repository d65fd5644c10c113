package agent

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/subagents/journal"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The Google client brings OpenCensus, whose init starts a goroutine that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// testStamp counts ids and stands still in time.
func testStamp() journal.Stamp {
	var n atomic.Int64
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return journal.Stamp{Worker: "local", Clock: func() time.Time { return now }, IDs: func() string { return fmt.Sprintf("id-%d", n.Add(1)) }}
}

func testAssignment() *wire.Assignment {
	return &wire.Assignment{
		Run: "r1", Task: spec.Task{ID: "t1", Role: "generator", Brief: "do it"}, Attempt: 1, Delivery: 1,
		Role: spec.Role{Name: "generator", Executor: spec.ExecutorModel},
	}
}

func openTest(t testing.TB, m *journaltest.Memory) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), m, m, testAssignment(), testStamp())
	require.NoError(t, err)
	return j
}
